/* 00 two pass
 *
 *   idea    for each row, first compute the mean, then the squared distances from it
 *   expect  no factor: 01_welford is compared with this file, not with PyTorch
 *   limit   each addition waits for the previous one, so an element takes four cycles
 *   run     make bench T=03_im2col_cpu/layer_norm/00
 *
 * Covers all shapes and strides. Workspace: a copy of each non-contiguous tensor.
 */
#include "operators.h"

/* Returns the mean of the D elements of `row`. */
static inline accum row_mean(const real *row, int64_t D)
{
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t d = 0; d < D; d++) sum += row[d];
    return sum / (accum)D;
    // END SOLUTION
    // STARTER return 0;  // your code (the reference takes 3 lines)
}

/* Returns the average of (x - mean)^2, in a second pass over the row. The average of
 * x^2 minus mean^2 would need no second pass. But if mean is 10000, each of these two
 * numbers is about 100000000. In float, the difference then has no correct digit. */
static inline accum row_variance(const real *row, accum mean, int64_t D)
{
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t d = 0; d < D; d++) sum += (row[d] - mean) * (row[d] - mean);
    return sum / (accum)D;
    // END SOLUTION
    // STARTER return 0;  // your code (the reference takes 3 lines)
}

/* output[r,d] = (input[r,d] - mean[r]) * rstd[r] * weight[d] + bias[d] */
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    // BEGIN SOLUTION
    const int64_t R = tensor_count(input, input->ndim - 1);
    const int64_t D = input->size[input->ndim - 1];
    if (R == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);                   // (R, D)
    const real *w = weight ? tensor_contiguous(ctx, weight) : NULL;  // (D)
    const real *b = bias ? tensor_contiguous(ctx, bias) : NULL;      // (D)
    if (!x || (weight && !w) || (bias && !b)) return STATUS_NO_MEMORY;

    for (int64_t r = 0; r < R; r++, x += D) {
        const accum mean_r = row_mean(x, D);
        const accum rstd_r = 1 / real_sqrt(row_variance(x, mean_r, D) + (accum)p.eps);
        if (mean) ((accum *)mean->data)[r] = mean_r;
        if (rstd) ((accum *)rstd->data)[r] = rstd_r;
        real *restrict y = real_data(output) + r * D;  // overlaps no input
        for (int64_t d = 0; d < D; d++) {
            const accum scaled = (x[d] - mean_r) * rstd_r * (w ? w[d] : 1);
            y[d] = scaled + (b ? b[d] : 0);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 19 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

static inline void set_zero(tensor_t *sums)
{
    if (!sums) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(sums); i++) real_data(sums)[i] = 0;
}

/* In each row, dx = grad_output * weight, xhat = (input - mean) * rstd, and grad_input
 * = rstd * (dx - average of dx - xhat * average of dx * xhat). For all rows, grad_bias
 * sums grad_output, and grad_weight sums grad_output * xhat. mean has the type real. */
status_t layer_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             const tensor_t *mean, const tensor_t *rstd,
                             layer_norm_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    (void)p;  // rstd already contains eps
    const int64_t D = input->size[input->ndim - 1], R = tensor_numel(input) / D;
    set_zero(grad_weight), set_zero(grad_bias);  // even if there are no rows
    if (R == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);                   // (R, D)
    const real *g = tensor_contiguous(ctx, grad_output);             // (R, D)
    const real *w = weight ? tensor_contiguous(ctx, weight) : NULL;  // (D)
    const real *m = tensor_contiguous(ctx, mean), *s = tensor_contiguous(ctx, rstd);
    if (!x || !g || !m || !s || (weight && !w)) return STATUS_NO_MEMORY;

    for (int64_t r = 0; r < R; r++, x += D, g += D) {
        accum sum = 0, sum_xhat = 0;  // the sums of dx and of dx * xhat
        for (int64_t d = 0; d < D; d++) {
            const accum dx = g[d] * (w ? w[d] : 1), xhat = (x[d] - m[r]) * s[r];
            sum += dx, sum_xhat += dx * xhat;
            if (grad_weight) real_data(grad_weight)[d] += g[d] * xhat;
            if (grad_bias) real_data(grad_bias)[d] += g[d];
        }
        if (!grad_input) continue;
        for (int64_t d = 0; d < D; d++) {
            const accum dx = g[d] * (w ? w[d] : 1), xhat = (x[d] - m[r]) * s[r];
            real_data(grad_input)[r * D + d] =
                s[r] * (dx - (sum + xhat * sum_xhat) / (accum)D);
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 25 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
