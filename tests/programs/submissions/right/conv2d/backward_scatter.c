// SPDX-License-Identifier: MIT
/* the loops of forward, each product handed back */
#include "operators.h"

static void zero(tensor_t *t)
{
    if (!t) return;
    for (int64_t i = 0; i < tensor_numel(t); i++) real_data(t)[i] = 0;
}

status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t IC = weight->size[1], KH = weight->size[2], KW = weight->size[3];
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t N = grad_output->size[0], OC = grad_output->size[1];
    const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    zero(grad_input);
    zero(grad_weight);
    zero(grad_bias);
    for (int64_t i = 0; i < N * OC * OH * OW; i++) {
        const int64_t n = i / (OC * OH * OW), oc = i / (OH * OW) % OC;
        const int64_t oh = i / OW % OH, ow = i % OW;
        const int64_t base = oc / (OC / p.groups) * IC;
        const real grad = *at4(grad_output, n, oc, oh, ow);
        if (grad_bias) *at1(grad_bias, oc) += grad;
        for (int64_t ic = 0; ic < IC; ic++) {
            for (int64_t kh = 0; kh < KH; kh++) {
                for (int64_t kw = 0; kw < KW; kw++) {
                    const int64_t ih =
                        oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                    const int64_t iw =
                        ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                    if (ih < 0 || ih >= IH || iw < 0 || iw >= IW) continue;
                    if (grad_input)
                        *at4(grad_input, n, base + ic, ih, iw) +=
                            grad * *at4(weight, oc, ic, kh, kw);
                    if (grad_weight)
                        *at4(grad_weight, oc, ic, kh, kw) +=
                            grad * *at4(input, n, base + ic, ih, iw);
                }
            }
        }
    }
    return STATUS_OK;
}
