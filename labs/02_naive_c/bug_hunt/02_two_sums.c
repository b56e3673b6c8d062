/* 02 two sums
 *
 *   does     group_norm forward: mean and variance of each group, then its output
 *   seen     tracel-ai/burn issue 5607 (2026) and apache/tvm issue 19592 (2026)
 *   passes   groups of any length, with numbers from a normal distribution
 *   run      make grade T=02_naive_c/bug_hunt/02
 */
#include "exhibits.h"

typedef struct {
    accum mean, variance;
} moments_t;

/* Returns mean and variance of the COUNT numbers in x. The variance is divided by
 * COUNT. */
static moments_t moments_of(const real *x, int64_t COUNT)
{
    moments_t found = {0, 0};
    // BEGIN SOLUTION
    for (int64_t i = 0; i < COUNT; i++) found.mean += x[i] / (accum)COUNT;
    for (int64_t i = 0; i < COUNT; i++) {
        const accum apart = x[i] - found.mean;
        found.variance += apart * apart / (accum)COUNT;
    }
    // END SOLUTION
    // STARTER for (int64_t i = 0; i < COUNT; i++) {
    // STARTER     found.mean += x[i] / (accum)COUNT;
    // STARTER     found.variance += x[i] * x[i] / (accum)COUNT;
    // STARTER }
    // STARTER found.variance -= found.mean * found.mean;
    return found;
}

/* output = (input - mean) / sqrt(variance + eps) * weight[c] + bias[c], group by group.
 * If weight is NULL, the weights are 1. If bias is NULL, the biases are 0. */
status_t group_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, group_norm_params_t p,
                            tensor_t *output)
{
    const int64_t N = input->size[0], C = input->size[1], L = input->size[2];
    const int64_t CHANNELS = C / p.num_groups;  // of a group
    const real *from = tensor_contiguous(ctx, input);
    if (!from && tensor_numel(input) > 0) return STATUS_NO_MEMORY;

    real *to = real_data(output);
    for (int64_t group = 0; group < N * p.num_groups; group++) {
        const moments_t moments = moments_of(from, CHANNELS * L);
        const accum scale = 1 / real_sqrt(moments.variance + (accum)p.eps);
        for (int64_t i = 0; i < CHANNELS * L; i++) {
            const int64_t c = group % p.num_groups * CHANNELS + i / L;
            accum value = scale * (*from++ - moments.mean);
            if (weight) value *= *at1(weight, c);
            if (bias) value += *at1(bias, c);
            *to++ = (real)value;
        }
    }
    return STATUS_OK;
}
