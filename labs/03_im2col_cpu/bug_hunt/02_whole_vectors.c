/* 02 whole vectors
 *
 *   does     gelu forward, one vector register at a time
 *   seen     nntrainer/nntrainer pull request 4345 (2026): a product on ARM that gave
 *            right numbers for every length
 *   passes   all comparisons of values, and nearly all runs without a sanitizer
 *   run      make grade T=03_im2col_cpu/bug_hunt/02
 *
 * Workspace: a copy of a non-contiguous input.
 */
#include "operators.h"
#include "vector.h"

static real one_gelu(accum x, int64_t approximate)
{
    const accum half = (accum)0.5 * x;
    if (approximate == GELU_TANH) {
        const accum cube = (accum)0.044715 * x * x * x;
        return (real)(half + half * real_tanh((accum)0.7978845608028654 * (x + cube)));
    }
    return (real)(half + half * real_erf(x * (accum)0.7071067811865476));
}

static vec some_gelus(vec x, int64_t approximate)
{
    for (int lane = 0; lane < LANES; lane++) x[lane] = one_gelu(x[lane], approximate);
    return x;
}

/* output = gelu(input). First come whole vectors. Of the last vector, only the lanes
 * that contain elements are stored. */
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    const int64_t ELEMENTS = tensor_numel(input);
    if (ELEMENTS == 0) return STATUS_OK;
    const real *from = tensor_contiguous(ctx, input);
    if (!from) return STATUS_NO_MEMORY;

    real *to = real_data(output);
    int64_t left = ELEMENTS;
    for (; left >= LANES; left -= LANES, from += LANES, to += LANES) {
        vec_store(to, some_gelus(vec_load(from), p.approximate));
    }
    if (left > 0) {
        // BEGIN SOLUTION
        const vec x = vec_load_first(from, left);
        // END SOLUTION
        // STARTER const vec x = vec_load(from);
        vec_store_first(to, some_gelus(x, p.approximate), left);
    }
    return STATUS_OK;
}
