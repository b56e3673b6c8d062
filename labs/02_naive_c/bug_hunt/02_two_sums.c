/* 02 two sums
 *
 *   does     layer_norm forward: one pass computes mean and variance, one pass writes
 *   seen     tracel-ai/burn issue 5607 (2026) and apache/tvm issue 19592 (2026): wrong
 *            rows, and NaN, from finite inputs
 *   passes   rows of any length, with numbers from a normal distribution
 *   run      make grade T=02_naive_c/bug_hunt/02
 */
#include "operators.h"

typedef struct {
    accum mean, variance;
} moments_t;

/* Returns mean and variance of the D numbers in x. The variance is divided by D. */
static moments_t moments_of(const real *x, int64_t D)
{
    moments_t found = {0, 0};
    // BEGIN SOLUTION
    for (int64_t d = 0; d < D; d++) found.mean += x[d] / (accum)D;
    for (int64_t d = 0; d < D; d++) {
        const accum apart = x[d] - found.mean;
        found.variance += apart * apart / (accum)D;
    }
    // END SOLUTION
    // STARTER for (int64_t d = 0; d < D; d++) {
    // STARTER     found.mean += x[d] / (accum)D;
    // STARTER     found.variance += x[d] * x[d] / (accum)D;
    // STARTER }
    // STARTER found.variance -= found.mean * found.mean;
    return found;
}

/* Computes output = (input - mean) * rstd * weight + bias, row by row. If weight is
 * NULL, the weights are 1. If bias is NULL, the biases are 0. */
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    const int32_t last = input->ndim - 1;
    const int64_t D = input->size[last], R = tensor_numel(input) / D;
    if (R < 1) return STATUS_OK;
    const real *row_in = tensor_contiguous(ctx, input);
    if (!row_in) return STATUS_NO_MEMORY;

    for (int64_t r = 0; r < R; r++, row_in += D) {
        const moments_t row = moments_of(row_in, D);
        const accum scale = 1 / real_sqrt(row.variance + (accum)p.eps);
        if (mean) *((accum *)mean->data + r) = row.mean;  // outputs are contiguous
        if (rstd) *((accum *)rstd->data + r) = scale;
        real *row_out = real_data(output) + r * D;
        for (int64_t d = 0; d < D; d++) {
            accum value = scale * (row_in[d] - row.mean);
            if (weight) value *= *at1(weight, d);
            if (bias) value += *at1(bias, d);
            row_out[d] = (real)value;
        }
    }
    return STATUS_OK;
}
