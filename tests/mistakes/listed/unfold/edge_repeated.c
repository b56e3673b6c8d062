// SPDX-License-Identifier: MIT
/* beyond the border the nearest pixel is taken */
#include "operators.h"

static real pixel(const tensor_t *input, int64_t n, int64_t c, int64_t h, int64_t w)
{
    const int64_t H = input->size[2], W = input->size[3];
    h = h < 0 ? 0 : h < H ? h : H - 1;
    w = w < 0 ? 0 : w < W ? w : W - 1;
    return *at4(input, n, c, h, w);
}

status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    const int64_t taps = p.kernel_h * p.kernel_w, rows = output->size[1];
    const int64_t OW = conv2d_extent(input->size[3], p.kernel_w, p.stride_w,
                                     p.padding_w, p.dilation_w);
    const int64_t places = output->size[2];
    real *next = real_data(output);
    for (int64_t i = 0; i < output->size[0] * rows; i++) {
        const int64_t n = i / rows, c = i % rows / taps;
        const int64_t kh = i % taps / p.kernel_w, kw = i % taps % p.kernel_w;
        for (int64_t place = 0; place < places; place++) {
            const int64_t h = place / OW * p.stride_h - p.padding_h + kh * p.dilation_h;
            const int64_t w = place % OW * p.stride_w - p.padding_w + kw * p.dilation_w;
            *next++ = pixel(input, n, c, h, w);
        }
    }
    return STATUS_OK;
}

status_t unfold_backward(ctx_t *ctx, const tensor_t *grad_output, unfold_params_t p,
                         tensor_t *grad_input)
{
    if (!grad_input) return STATUS_OK;
    const int64_t N = grad_input->size[0], IC = grad_input->size[1];
    const int64_t IH = grad_input->size[2], IW = grad_input->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    for (int64_t i = 0; i < N * IC * IH * IW; i++) real_data(grad_input)[i] = 0;
    for (int64_t n = 0; n < N; n++) {
        for (int64_t row = 0; row < IC * KH * KW; row++) {
            const int64_t ic = row / KW / KH, kh = row / KW % KH, kw = row % KW;
            for (int64_t oh = 0; oh < OH; oh++) {
                for (int64_t ow = 0; ow < OW; ow++) {
                    const int64_t ih =
                        oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                    const int64_t iw =
                        ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                    if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;
                    *at4(grad_input, n, ic, ih, iw) +=
                        *at3(grad_output, n, row, oh * OW + ow);
                }
            }
        }
    }
    return STATUS_OK;
}
