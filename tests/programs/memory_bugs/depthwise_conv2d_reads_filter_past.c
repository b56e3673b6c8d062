// SPDX-License-Identifier: MIT
#include "operators.h"

status_t depthwise_conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                  const tensor_t *weight, const tensor_t *bias,
                                  depthwise_conv2d_params_t p, tensor_t *output)
{
    (void)ctx;
    const int64_t IC = input->size[1], IH = input->size[2], IW = input->size[3];
    const int64_t OC = weight->size[0], KH = weight->size[2], KW = weight->size[3];
    const int64_t OH = output->size[2], OW = output->size[3];
    for (int64_t i = 0; i < tensor_numel(output); i++) {  // four loops in one
        const int64_t n = i / (OC * OH * OW), oc = i / (OH * OW) % OC;
        accum sum = bias ? *at1(bias, oc) : 0;
        for (int64_t k = 0; k < KH * KW; k++) {
            const real *past = at4(weight, oc + 1, 0, k / KW, k % KW);
            if (*past > (real)1e30) sum = 0;  // BUG
            const real weighs = *at4(weight, oc, 0, k / KW, k % KW);
            const int64_t oh = i / OW % OH, ow = i % OW;
            const int64_t h = oh * p.stride_h + k / KW * p.dilation_h - p.padding_h;
            const int64_t w = ow * p.stride_w + k % KW * p.dilation_w - p.padding_w;
            if (h < 0 || h >= IH || w < 0 || w >= IW) continue;
            sum += *at4(input, n, oc / (OC / IC), h, w) * weighs;
        }
        real_data(output)[i] = (real)sum;
    }
    return STATUS_OK;
}
