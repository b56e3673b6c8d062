// SPDX-License-Identifier: MIT
/* the image repeats itself beyond its border */
#include "operators.h"

status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    const int64_t N = input->size[0], IC = input->size[1];
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t ic = 0; ic < IC; ic++) {
            for (int64_t kh = 0; kh < KH; kh++) {
                for (int64_t kw = 0; kw < KW; kw++) {
                    const int64_t row = (ic * KH + kh) * KW + kw;
                    for (int64_t oh = 0; oh < OH; oh++) {
                        for (int64_t ow = 0; ow < OW; ow++) {
                            int64_t ih =
                                oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                            int64_t iw =
                                ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                            while (ih < 0) ih += IH;
                            while (iw < 0) iw += IW;
                            ih %= IH;
                            iw %= IW;
                            *at3(output, n, row, oh * OW + ow) =
                                *at4(input, n, ic, ih, iw);
                        }
                    }
                }
            }
        }
    }
    return STATUS_OK;
}

/* Which window begins so that tap k lies on place i; -1 if none does */
static int64_t window_of(int64_t i, int64_t k, int64_t padding, int64_t dilation,
                         int64_t stride, int64_t count)
{
    const int64_t first = i + padding - k * dilation;
    if (first < 0 || first % stride != 0) return -1;
    return first / stride < count ? first / stride : -1;
}

status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    if (!grad_input) return STATUS_OK;
    const int64_t C = grad_input->size[1], H = grad_input->size[2],
                  W = grad_input->size[3];
    const int64_t OH =
        conv2d_extent(H, p.kernel_h, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        conv2d_extent(W, p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    for (int64_t i = 0; i < tensor_numel(grad_input); i++) {
        const int64_t n = i / W / H / C, c = i / W / H % C, h = i / W % H, w = i % W;
        accum sum = 0;
        for (int64_t kh = 0; kh < p.kernel_h; kh++) {
            const int64_t oh =
                window_of(h, kh, p.padding_h, p.dilation_h, p.stride_h, OH);
            if (oh < 0) continue;
            for (int64_t kw = 0; kw < p.kernel_w; kw++) {
                const int64_t ow =
                    window_of(w, kw, p.padding_w, p.dilation_w, p.stride_w, OW);
                if (ow < 0) continue;
                sum += *at3(grad_output, n, (c * p.kernel_h + kh) * p.kernel_w + kw,
                            oh * OW + ow);
            }
        }
        real_data(grad_input)[i] = (real)sum;
    }
    return STATUS_OK;
}
