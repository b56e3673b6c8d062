// SPDX-License-Identifier: MIT
#include "operators.h"

/* One output: the window of input under (oh, ow), dotted with filter oc. */
static accum window_dot(const tensor_t *input, const tensor_t *weight,
                        conv2d_params_t p, int64_t n, int64_t oc, int64_t oh,
                        int64_t ow)
{
    const int64_t OC = weight->size[0] / p.groups, IC = weight->size[1];  // in a group
    const int64_t KH = weight->size[2], KW = weight->size[3];
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t ic0 = oc / OC * IC;  // the first input channel that filter oc sees

    accum sum = 0;
    for (int64_t ic = 0; ic < IC; ic++) {
        for (int64_t kh = 0; kh < KH; kh++) {
            for (int64_t kw = 0; kw < KW; kw++) {
                const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                if (ih < 0 || ih > IH || iw < 0 || iw >= IW) continue;  // padding
                const real x = *at4(input, n, ic0 + ic, ih, iw);        // BUG
                sum += x * *at4(weight, oc, ic, kh, kw);
            }
        }
    }
    return sum;
}

/* output[n,oc,oh,ow] = bias[oc] + sum over ic, kh, kw of input * weight */
status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    (void)ctx;
    const int64_t OH = output->size[2], OW = output->size[3];
    for (int64_t n = 0; n < output->size[0]; n++) {
        for (int64_t oc = 0; oc < output->size[1]; oc++) {
            const accum start = bias ? *at1(bias, oc) : 0;
            for (int64_t i = 0; i < OH * OW; i++) {  // two loops in one: i = oh*OW + ow
                const accum sum = window_dot(input, weight, p, n, oc, i / OW, i % OW);
                *at4(output, n, oc, i / OW, i % OW) = (real)(start + sum);
            }
        }
    }
    return STATUS_OK;
}
