/* 04 streamed
 *
 *   idea    streaming stores bypass the caches, so no cache line is read before a store
 *   expect  1.5x to 2x the speed of 02_vectors if the output is larger than the caches
 *   limit   memory bandwidth: each input is read once, and each output is written once
 *   run     make bench T=03_im2col_cpu/layer_norm/04
 *
 * Covers rows of whole vectors. Processes four short rows at once, as in 03_four_rows,
 * or one long row, as in 02_vectors. Workspace: copies of non-contiguous tensors.
 */
#include "operators.h"
#include "vector.h"

enum { SUMS = 4 };                         // vectors of sums: of four rows, or of one
enum { PAGE = 4 << 10, LARGE = 1 << 20 };  // most bytes of four rows; least to stream

/* Averages x - center[i] over row i of x (n, D), or (x - center[i])^2 if `squared`.
 * Every call passes n as a constant. If n < SUMS, each row has SUMS / n sums. */
EXPAND void averages(int n, const real *x, int64_t D, const real *center, int squared,
                     real *average)
{
    // BEGIN SOLUTION
    const int WAYS = SUMS / n;  // sums per row
    vec sum[SUMS] = {0};
    int64_t d = 0;
    for (; d + WAYS * LANES <= D; d += WAYS * LANES) {
        UNROLL
        for (int i = 0; i < SUMS; i++) {
            const real *from = x + i / WAYS * D + d + i % WAYS * LANES;
            const vec v = vec_load(from) - vec_splat(center[i / WAYS]);
            sum[i] += squared ? v * v : v;
        }
    }
    for (; d < D; d += LANES) {  // the last vectors of a single row
        const vec v = vec_load(x + d) - vec_splat(center[0]);
        sum[0] += squared ? v * v : v;
    }
    UNROLL
    for (int i = 0; i < n; i++) {
        for (int way = 1; way < WAYS; way++) sum[i * WAYS] += sum[i * WAYS + way];
        average[i] = vec_sum(sum[i * WAYS]) / (real)D;
    }
    // END SOLUTION
    // STARTER // SUMS vectors of sums, for n rows; then add up their lanes
    // STARTER // (the reference takes 20 lines)
}

/* y (n, D) = (x - mean) * rstd * w + b. A NULL w counts as 1, a NULL b as 0. */
EXPAND void normalize(int n, const real *x, const real *mean, const real *rstd,
                      const real *w, const real *b, int64_t D, real *y, int streamed)
{
    // BEGIN SOLUTION
    for (int64_t d = 0; d < D; d += LANES) {
        const vec wd = w ? vec_load(w + d) : vec_splat(1);
        const vec bd = b ? vec_load(b + d) : vec_splat(0);
        UNROLL
        for (int i = 0; i < n; i++) {
            __builtin_prefetch(x + (n + i) * D + d);  // the next rows
            const vec centered = vec_load(x + i * D + d) - vec_splat(mean[i]);
            const vec result = centered * vec_splat(rstd[i]) * wd + bd;
            streamed ? vec_stream(y + i * D + d, result)
                     : vec_store(y + i * D + d, result);
        }
    }
    // END SOLUTION
    // STARTER // as in 03_four_rows; also prefetch the next rows
    // STARTER // (the reference takes 12 lines)
}

/* output[r,d] = (input[r,d] - mean[r]) * rstd[r] * weight[d] + bias[d] */
status_t layer_norm_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                            const tensor_t *bias, layer_norm_params_t p,
                            tensor_t *output, tensor_t *mean, tensor_t *rstd)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    const int64_t D = input->size[input->ndim - 1], R = tensor_numel(input) / D;
    const int64_t bytes = D * (int64_t)sizeof(real);  // bytes of one row
    real *y = real_data(output);                      // (R, D)
    const int streamed = R * bytes >= LARGE && (uintptr_t)y % VECTOR_BYTES == 0;
    if (R == 0 || D % LANES != 0) return STATUS_UNSUPPORTED;
    const real *x = tensor_contiguous(ctx, input);                   // (R, D)
    const real *w = weight ? tensor_contiguous(ctx, weight) : NULL;  // (D)
    const real *b = bias ? tensor_contiguous(ctx, bias) : NULL;      // (D)
    if (!x || (weight && !w) || (bias && !b)) return STATUS_NO_MEMORY;

    // BEGIN SOLUTION
    const real zero[SUMS] = {0};
    for (int64_t r = 0, n; r < R; r += n, x += n * D, y += n * D) {
        real m[SUMS], s[SUMS];
        n = r + SUMS <= R && SUMS * bytes <= PAGE ? SUMS : 1;
        n > 1 ? averages(SUMS, x, D, zero, 0, m) : averages(1, x, D, zero, 0, m);
        n > 1 ? averages(SUMS, x, D, m, 1, s) : averages(1, x, D, m, 1, s);
        for (int64_t i = 0; i < n; i++) {
            s[i] = 1 / real_sqrt(s[i] + (real)p.eps);
            if (mean) ((accum *)mean->data)[r + i] = m[i];
            if (rstd) ((accum *)rstd->data)[r + i] = s[i];
        }
        n > 1 ? normalize(SUMS, x, m, s, w, b, D, y, streamed)
              : normalize(1, x, m, s, w, b, D, y, streamed);
    }
    vec_stream_end();
    // END SOLUTION
    // STARTER // SUMS rows of at most PAGE bytes, or one row: mean, rstd, output;
    // STARTER // vec_stream_end() at the end (the reference takes 15 lines)
    // STARTER (void)streamed;
    return STATUS_OK;
}
