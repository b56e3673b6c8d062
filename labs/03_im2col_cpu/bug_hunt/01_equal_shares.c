/* 01 equal shares
 *
 *   does     gelu backward: each thread takes a part of the elements, in whole units
 *   seen     sgl-project/sgl-kernel-xpu pull request 469 (2026): an activation function
 *            whose vectors also wrote elements of a second launch
 *   passes   a run with one thread; all comparisons of values with more threads
 *   run      make grade T=03_im2col_cpu/bug_hunt/01
 *
 * Any number of threads gives the same result. Workspace: copies of strided inputs.
 */
#include "operators.h"

enum { UNIT = 16 };  // elements: the compiler vectorises a loop over UNIT of them

/* d gelu(x) / d x, by the product rule: gelu = x/2 * (1 + bent), bent = erf or tanh. */
static real slope_at(accum x, int64_t approximate)
{
    const accum u = (accum)0.7978845608028654 * x;  // sqrt(2/pi) * x
    if (approximate == GELU_TANH) {
        const accum cubic = (accum)0.044715 * x * x;
        const accum bent = real_tanh(u * (1 + cubic));
        return (real)((1 + bent + u * (1 - bent * bent) * (1 + 3 * cubic)) / 2);
    }
    const accum bent = real_erf(x * (accum)0.7071067811865476);
    return (real)((1 + bent + u * real_exp(-x * x / 2)) / 2);
}

/* grad_input = grad_output * slope_at(input). The parts of two threads differ by at
 * most one element, so all threads need the same time. */
status_t gelu_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                       gelu_params_t p, tensor_t *grad_input)
{
    const int64_t ELEMENTS = grad_input ? tensor_numel(grad_input) : 0;
    if (ELEMENTS == 0) return STATUS_OK;
    const real *given = tensor_contiguous(ctx, input);
    const real *arrived = tensor_contiguous(ctx, grad_output);
    if (!arrived || given == NULL) return STATUS_NO_MEMORY;
    const int64_t TEAM = ctx->threads;

#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t t = 0; t < TEAM; t++) {
        const int64_t end = (t + 1) * ELEMENTS / TEAM;
        for (int64_t i = t * ELEMENTS / TEAM; i < end; i += UNIT) {
            // BEGIN SOLUTION
            const int64_t rest = end - i;
            // END SOLUTION
            // STARTER const int64_t rest = ELEMENTS - i;
            const int64_t some = rest < UNIT ? rest : UNIT;
            real *to = real_data(grad_input) + i;
            for (int64_t k = 0; k < some; k++) {
                to[k] = arrived[i + k] * slope_at(given[i + k], p.approximate);
            }
        }
    }
    return STATUS_OK;
}
