// SPDX-License-Identifier: MIT
#include "operators.h"

/* One output: the window of input under (oh, ow), dotted with filter oc. */
static accum window_dot(const tensor_t *input, const tensor_t *weight,
                        conv2d_params_t p, int64_t n, int64_t oc, int64_t oh,
                        int64_t ow)
{
    accum sum = 0;
    const int64_t ic0 = oc / (weight->size[0] / p.groups) * weight->size[1];
    for (int64_t ic = 0; ic < weight->size[1]; ic++) {
        for (int64_t kh = 0; kh < weight->size[2]; kh++) {
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            if (ih < 0 || ih > input->size[2]) continue;  // padding
            for (int64_t kw = 0; kw < weight->size[3]; kw++) {
                const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                if (iw < 0 || iw >= input->size[3]) continue;
                const real x = *at4(input, n, ic0 + ic, ih, iw);  // BUG
                sum += x * *at4(weight, oc, ic, kh, kw);
            }
        }
    }
    return sum;
}

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    (void)ctx;
    const int64_t OC = output->size[1], OH = output->size[2], OW = output->size[3];
    for (int64_t i = 0; i < tensor_numel(output); i++) {  // four loops in one
        const int64_t n = i / (OC * OH * OW), oc = i / (OH * OW) % OC;
        const accum sum = window_dot(input, weight, p, n, oc, i / OW % OH, i % OW);
        real_data(output)[i] = (real)(bias ? *at1(bias, oc) + sum : sum);
    }
    return STATUS_OK;
}
