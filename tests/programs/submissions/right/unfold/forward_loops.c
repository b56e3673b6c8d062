// SPDX-License-Identifier: MIT
/* six loops, row and column of the output by their formula */
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
                            const int outside =
                                ih < 0 || ih >= IH || iw < 0 || iw >= IW;
                            *at3(output, n, row, oh * OW + ow) =
                                outside ? 0 : *at4(input, n, ic, ih, iw);
                        }
                    }
                }
            }
        }
    }
    return STATUS_OK;
}
