// SPDX-License-Identifier: MIT
/* the loops of forward, each product handed back */
#include "operators.h"

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
