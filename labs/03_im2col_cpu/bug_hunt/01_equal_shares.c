/* 01 equal shares
 *
 *   does     cumsum backward: each thread takes a part of the rows, some at a time
 *   seen     sgl-project/sgl-kernel-xpu pull request 469 (2026): an activation function
 *            whose vectors also wrote elements of a second launch
 *   passes   a run with one thread; all comparisons of values with more threads
 *   run      make grade T=03_im2col_cpu/bug_hunt/01
 *
 * Any number of threads gives the same result. Workspace: a copy of a non-contiguous
 * grad_output.
 */
#include "exhibits.h"

enum { UNIT = 4 };  // rows: while one sum waits for its addition, three others add

/* to[r,d] = sum of from[r,d] to from[r,D-1], for `rows` rows, at most UNIT */
static void sums_to_the_end(const real *from, int64_t rows, int64_t D, real *to)
{
    accum sum[UNIT] = {0};
    for (int64_t d = D - 1; d >= 0; d--) {
        for (int64_t r = 0; r < rows; r++) {
            sum[r] += from[r * D + d];
            to[r * D + d] = (real)sum[r];
        }
    }
}

/* grad_input[r,d] = sum of grad_output[r,d] to grad_output[r,D-1]. The parts of two
 * threads differ by at most one row, so all threads need the same time. */
status_t cumsum_backward(ctx_t *ctx, const tensor_t *grad_output, tensor_t *grad_input)
{
    const int64_t COUNT = grad_input ? tensor_numel(grad_input) : 0;
    if (COUNT == 0) return STATUS_OK;
    const int64_t D = grad_input->size[grad_input->ndim - 1], R = COUNT / D;
    const real *from = tensor_contiguous(ctx, grad_output);
    if (!from) return STATUS_NO_MEMORY;
    const int64_t TEAM = ctx->threads;

#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t t = 0; t < TEAM; t++) {
        const int64_t end = (t + 1) * R / TEAM;
        for (int64_t r = t * R / TEAM; r < end; r += UNIT) {
            // BEGIN SOLUTION
            const int64_t rest = end - r;
            // END SOLUTION
            // STARTER const int64_t rest = R - r;
            const int64_t rows = rest < UNIT ? rest : UNIT;
            sums_to_the_end(from + r * D, rows, D, real_data(grad_input) + r * D);
        }
    }
    return STATUS_OK;
}
