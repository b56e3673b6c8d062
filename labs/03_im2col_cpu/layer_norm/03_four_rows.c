/* 03 four rows
 *
 *   idea    process four rows at once: then their square roots and divisions overlap
 *   expect  1.4x the speed of 02_vectors for rows of 256 floats, 1.7x for rows of 64
 *   limit   the second and the third pass read each row from the L1 cache
 *   run     make bench T=03_im2col_cpu/layer_norm/03
 *
 * Computes forward. One sum in each of four rows is as fast as four sums in one row.
 * Each vector of weight and bias is loaded once for four rows. Covers rows if four rows
 * fit into one page of memory. The hardware prefetches within a page, and is slow with
 * four pages at once. Workspace: a copy of each non-contiguous tensor.
 */
#include "operators.h"
#include "vector.h"

enum { ROWS = 4, PAGE = 4 << 10 };  // rows at once; bytes of a page of memory

/* Averages x - center[i] over row i of x (n, D), or (x - center[i])^2 if `squared`. */
EXPAND void averages(int n, const real *x, int64_t D, const real *center, int squared,
                     real *average)
{
    // BEGIN SOLUTION
    vec sum[ROWS] = {0};
    int64_t d = 0;
    for (; d + LANES <= D; d += LANES) {
        UNROLL
        for (int i = 0; i < n; i++) {
            const vec v = vec_load(x + i * D + d) - vec_splat(center[i]);
            sum[i] += squared ? v * v : v;
        }
    }
    UNROLL
    for (int i = 0; i < n; i++) average[i] = vec_sum(sum[i]);
    for (; d < D; d++) {  // fewer than LANES
        for (int i = 0; i < n; i++) {
            const real v = x[i * D + d] - center[i];
            average[i] += squared ? v * v : v;
        }
    }
    for (int i = 0; i < n; i++) average[i] /= (real)D;
    // END SOLUTION
    // STARTER // your code (the reference takes 18 lines)
}

/* y (n, D) = (x - mean) * rstd * w + b. A NULL w counts as 1, a NULL b as 0. */
EXPAND void normalize(int n, const real *x, const real *mean, const real *rstd,
                      const real *w, const real *b, int64_t D, real *restrict y)
{
    // BEGIN SOLUTION
    int64_t d = 0;
    for (; d + LANES <= D; d += LANES) {
        const vec wd = w ? vec_load(w + d) : vec_splat(1);
        const vec bd = b ? vec_load(b + d) : vec_splat(0);
        UNROLL
        for (int i = 0; i < n; i++) {
            const vec centered = vec_load(x + i * D + d) - vec_splat(mean[i]);
            vec_store(y + i * D + d, centered * vec_splat(rstd[i]) * wd + bd);
        }
    }
    for (; d < D; d++) {
        for (int i = 0; i < n; i++) {
            const real scaled = (x[i * D + d] - mean[i]) * rstd[i] * (w ? w[d] : 1);
            y[i * D + d] = scaled + (b ? b[d] : 0);
        }
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 16 lines)
}

/* Normalizes n rows of x (n, D). Every call passes n as a constant: ROWS or 1. */
EXPAND void rows(int n, const real *x, const real *w, const real *b, double eps,
                 int64_t D, real *y, real *mean, real *rstd)
{
    const real zero[ROWS] = {0};
    averages(n, x, D, zero, 0, mean);
    averages(n, x, D, mean, 1, rstd);  // variances; the next line turns them into rstd
    for (int i = 0; i < n; i++) rstd[i] = 1 / real_sqrt(rstd[i] + (real)eps);
    normalize(n, x, mean, rstd, w, b, D, y);
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
    if (ROWS * D * (int64_t)sizeof(real) > PAGE) return STATUS_UNSUPPORTED;
    const real *x = tensor_contiguous(ctx, input);                   // (R, D)
    const real *w = weight ? tensor_contiguous(ctx, weight) : NULL;  // (D)
    const real *b = bias ? tensor_contiguous(ctx, bias) : NULL;      // (D)
    if (!x || (weight && !w) || (bias && !b)) return STATUS_NO_MEMORY;

    for (int64_t r = 0; r < R;) {
        const int n = r + ROWS <= R ? ROWS : 1;
        real m[ROWS], s[ROWS], *y = real_data(output) + r * D;
        n > 1 ? rows(ROWS, x + r * D, w, b, p.eps, D, y, m, s)
              : rows(1, x + r * D, w, b, p.eps, D, y, m, s);
        for (int i = 0; i < n; i++, r++) {
            if (mean) ((accum *)mean->data)[r] = m[i];
            if (rstd) ((accum *)rstd->data)[r] = s[i];
        }
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 19 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
