// SPDX-License-Identifier: MIT
#include "operators.h"

/* Forward added input * weight to one output. A change of the input counts weight times
 * there, a change of the weight input times: so each product hands the gradient of the
 * output on to both of its factors. */
static void window_backward(real grad, const tensor_t *input, const tensor_t *weight,
                            conv2d_params_t p, int64_t n, int64_t oc, int64_t oh,
                            int64_t ow, tensor_t *grad_input, tensor_t *grad_weight)
{
    const int64_t OC = weight->size[0] / p.groups, IC = weight->size[1];  // in a group
    const int64_t KH = weight->size[2], KW = weight->size[3];
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t ic0 = oc / OC * IC;  // the first input channel that filter oc sees

    for (int64_t ic = 0; ic < IC; ic++) {
        for (int64_t kh = 0; kh < KH; kh++) {
            for (int64_t kw = 0; kw < KW; kw++) {
                const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                if (ih >= IH || iw < 0 || iw >= IW) continue;  // padding
                const real w = *at4(weight, oc, ic, kh, kw);
                if (grad_input)
                    *at4(grad_input, n, ic0 + ic, ih, iw) += grad * w;  // BUG
                const real x = ih < 0 ? 0 : *at4(input, n, ic0 + ic, ih, iw);
                if (grad_weight) *at4(grad_weight, oc, ic, kh, kw) += grad * x;
            }
        }
    }
}

static void set_zero(tensor_t *output)
{
    if (!output) return;  // a gradient that nobody wants
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] = 0;
}

/* The same loops; windows share input and all share weight, so gradients add up. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    (void)ctx;
    const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    set_zero(grad_input), set_zero(grad_weight), set_zero(grad_bias);

    for (int64_t n = 0; n < grad_output->size[0]; n++) {
        for (int64_t oc = 0; oc < grad_output->size[1]; oc++) {
            for (int64_t i = 0; i < OH * OW; i++) {  // i = oh*OW + ow
                const real grad = *at4(grad_output, n, oc, i / OW, i % OW);
                if (grad_bias) *at1(grad_bias, oc) += grad;
                window_backward(grad, input, weight, p, n, oc, i / OW, i % OW,
                                grad_input, grad_weight);
            }
        }
    }
    return STATUS_OK;
}
