// SPDX-License-Identifier: MIT
/* all pairs of the rulebook, one after the other */
#include "operators.h"

static int64_t side(const tensor_t *rulebook, int64_t k, int64_t i, int64_t which)
{
    const int64_t *stride = rulebook->stride;
    const int32_t *data = rulebook->data;
    return data[k * stride[0] + i * stride[1] + which * stride[2]];
}

static void zero(tensor_t *t)
{
    for (int64_t i = 0; t && i < tensor_numel(t); i++) real_data(t)[i] = 0;
}

status_t subm_conv3d_backward(ctx_t *ctx, const tensor_t *grad_output,
                              const tensor_t *features, const tensor_t *weight,
                              const tensor_t *rulebook, const tensor_t *count,
                              subm_conv3d_params_t p, tensor_t *grad_features,
                              tensor_t *grad_weight, tensor_t *grad_bias)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[3], KW = weight->size[4];
    zero(grad_features);
    zero(grad_weight);
    zero(grad_bias);
    for (int64_t k = 0; k < rulebook->size[0]; k++) {
        const int64_t kd = k / KW / KH, kh = k / KW % KH, kw = k % KW;
        const int64_t pairs = ((int64_t *)count->data)[k * count->stride[0]];
        for (int64_t i = 0; i < pairs; i++) {
            const int64_t from = side(rulebook, k, i, 0), to = side(rulebook, k, i, 1);
            for (int64_t j = 0; j < OC * IC; j++) {
                const int64_t oc = j / IC, ic = j % IC;
                const real grad = *at2(grad_output, to, oc);
                const real w = *at5(weight, oc, ic, kd, kh, kw);
                const real x = *at2(features, from, ic);
                if (grad_features) *at2(grad_features, from, ic) += grad * w;
                if (grad_weight) *at5(grad_weight, oc, ic, kd, kh, kw) += grad * x;
            }
        }
    }
    for (int64_t i = 0; grad_bias && i < tensor_numel(grad_output); i++) {
        *at1(grad_bias, i % OC) += *at2(grad_output, i / OC, i % OC);
    }
    return STATUS_OK;
}
