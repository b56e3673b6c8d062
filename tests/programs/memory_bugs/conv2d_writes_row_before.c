// SPDX-License-Identifier: MIT
#include "operators.h"
#include <string.h>

/* Every product of forward hands the gradient of its output on to both factors. */
status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    (void)ctx;
    const int64_t N = grad_output->size[0], OC = grad_output->size[1];
    const int64_t OH = grad_output->size[2], OW = grad_output->size[3];
    const int64_t IC = weight->size[1], KH = weight->size[2], KW = weight->size[3];
    tensor_t *const wanted[] = {grad_input, grad_weight, grad_bias};
    for (int g = 0; g < 3; g++) {
        const size_t COUNT = wanted[g] ? (size_t)tensor_numel(wanted[g]) : 0;
        if (COUNT > 0) memset(wanted[g]->data, 0, COUNT * sizeof(real));
    }

    for (int64_t i = 0; i < N * OC * OH * OW; i++) {  // four loops in one
        const int64_t n = i / (OC * OH * OW), oc = i / (OH * OW) % OC;
        const int64_t oh = i / OW % OH, ow = i % OW;
        const real grad = *at4(grad_output, n, oc, oh, ow);
        if (grad_bias) *at1(grad_bias, oc) += grad;
        for (int64_t k = 0; k < IC * KH * KW; k++) {  // and three
            const int64_t ic = k / (KH * KW), kh = k / KW % KH, kw = k % KW;
            const int64_t seen = oc / (OC / p.groups) * IC + ic;  // input channel
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
            if (ih >= input->size[2] || iw < 0 || iw >= input->size[3]) continue;
            const real w = *at4(weight, oc, ic, kh, kw);
            if (grad_input) *at4(grad_input, n, seen, ih, iw) += grad * w;  // BUG
            const real x = ih < 0 ? 0 : *at4(input, n, seen, ih, iw);
            if (grad_weight) *at4(grad_weight, oc, ic, kh, kw) += grad * x;
        }
    }
    return STATUS_OK;
}
