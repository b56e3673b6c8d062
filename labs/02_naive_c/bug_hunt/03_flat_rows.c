/* 03 flat rows
 *
 *   does     linear forward: a pointer moves over the rows of input
 *   seen     NVIDIA/TransformerEngine pull request 1017 (2024): Linear and LayerNorm of
 *            some inputs were wrong, without an error message
 *   passes   tensors as PyTorch creates them, and reshaped tensors
 *   run      make grade T=02_naive_c/bug_hunt/03
 */
#include "operators.h"

/* some_outputs computes FILTERS sums at once: four rows of weight use one row of input.
 * So each number of this row is loaded once for four sums. */
enum { FILTERS = 4 };

static void some_outputs(const real *x, const real *filters, int64_t IC, int64_t count,
                         accum sums[FILTERS])
{
    for (int64_t ic = 0; ic < IC; ic++) {
        for (int64_t i = 0; i < count; i++) sums[i] += x[ic] * filters[i * IC + ic];
    }
}

/* Computes output[r,oc] = bias[oc] + sum over ic of input[r,ic] * weight[oc,ic]. */
status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    const int64_t IC = weight->size[1], OC = weight->size[0];
    if (OC < 1) return STATUS_OK;
    const int64_t R = tensor_numel(output) / OC;
    // BEGIN SOLUTION
    const real *walk = tensor_contiguous(ctx, input);
    if (!walk && R * IC > 0) return STATUS_NO_MEMORY;
    // END SOLUTION
    // STARTER const real *walk = real_data(input);
    const real *dense = tensor_contiguous(ctx, weight);
    if (!dense && OC * IC > 0) return STATUS_NO_MEMORY;

    for (int64_t r = 0; r < R; r++) {
        for (int64_t oc = 0; oc < OC; oc += FILTERS) {
            const int64_t count = OC - oc < FILTERS ? OC - oc : FILTERS;
            accum sums[FILTERS];
            for (int64_t i = 0; i < count; i++) sums[i] = bias ? *at1(bias, oc + i) : 0;
            some_outputs(walk + r * IC, dense + oc * IC, IC, count, sums);
            real *to = real_data(output) + r * OC + oc;
            for (int64_t i = 0; i < count; i++) to[i] = (real)sums[i];
        }
    }
    return STATUS_OK;
}
