/* 02 whole vectors
 *
 *   does     prelu forward, one vector register at a time
 *   seen     nntrainer/nntrainer pull request 4345 (2026): a product on ARM that gave
 *            right numbers for every length
 *   passes   all comparisons of values, and nearly all runs without a sanitizer
 *   run      make grade T=03_im2col_cpu/bug_hunt/02
 *
 * Workspace: a copy of a non-contiguous input.
 */
#include "exhibits.h"
#include "vector.h"

static vec some_prelus(vec x, real slope)
{
    for (int lane = 0; lane < LANES; lane++) {
        if (x[lane] < 0) x[lane] *= slope;
    }
    return x;
}

/* output = input above 0, and weight[c] * input below. In each row, whole vectors come
 * first. Of the last vector, only the lanes that contain elements are stored. */
status_t prelu_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                       tensor_t *output)
{
    const int64_t N = input->size[0], C = input->size[1], L = input->size[2];
    const real *from = tensor_contiguous(ctx, input);
    if (!from && tensor_numel(input) > 0) return STATUS_NO_MEMORY;

    real *to = real_data(output);
    for (int64_t row = 0; row < N * C; row++, from += L, to += L) {
        const real slope = *at1(weight, row % C);
        int64_t l = 0;
        for (; L - l >= LANES; l += LANES) {
            vec_store(to + l, some_prelus(vec_load(from + l), slope));
        }
        if (l < L) {
            // BEGIN SOLUTION
            const vec x = vec_load_first(from + l, L - l);
            // END SOLUTION
            // STARTER const vec x = vec_load(from + l);
            vec_store_first(to + l, some_prelus(x, slope), L - l);
        }
    }
    return STATUS_OK;
}
