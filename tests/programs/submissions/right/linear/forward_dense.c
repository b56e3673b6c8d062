// SPDX-License-Identifier: MIT
/* dense copies, and output that starts from the bias */
#include "operators.h"

status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t R = tensor_count(output, output->ndim - 1);
    if (R == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    const real *w = tensor_contiguous(ctx, weight);
    if (!x || !w) return STATUS_NO_MEMORY;
    real *y = real_data(output);
    for (int64_t i = 0; i < R * OC; i++) y[i] = bias ? *at1(bias, i % OC) : 0;
    for (int64_t r = 0; r < R; r++) {
        for (int64_t ic = 0; ic < IC; ic++) {
            for (int64_t oc = 0; oc < OC; oc++)
                y[r * OC + oc] += x[r * IC + ic] * w[oc * IC + ic];
        }
    }
    return STATUS_OK;
}
