// SPDX-License-Identifier: MIT
/* each gradient looks for what it is made of */
#include "operators.h"

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
