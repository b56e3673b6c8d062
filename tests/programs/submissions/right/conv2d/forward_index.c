// SPDX-License-Identifier: MIT
/* seven loops, elements by their indices */
#include "operators.h"

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[2], KW = weight->size[3];
    const int64_t N = output->size[0], OH = output->size[2], OW = output->size[3];
    for (int64_t n = 0; n < N; n++) {
        for (int64_t oc = 0; oc < OC; oc++) {
            const int64_t g = oc / (OC / p.groups);
            for (int64_t oh = 0; oh < OH; oh++) {
                for (int64_t ow = 0; ow < OW; ow++) {
                    accum sum = bias ? *at1(bias, oc) : 0;
                    for (int64_t ic = 0; ic < IC; ic++) {
                        for (int64_t kh = 0; kh < KH; kh++) {
                            for (int64_t kw = 0; kw < KW; kw++) {
                                int64_t ih =
                                    oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                                int64_t iw =
                                    ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                                if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;
                                sum += *at4(input, n, g * IC + ic, ih, iw) *
                                       *at4(weight, oc, ic, kh, kw);
                            }
                        }
                    }
                    *at4(output, n, oc, oh, ow) = (real)sum;
                }
            }
        }
    }
    return STATUS_OK;
}
