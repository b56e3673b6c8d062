/* 00 stretched sum
 *
 *   does     add backward: each gradient is summed down to its operand's shape
 *   seen     deeplearning4j/nd4j issue 2424 (2017): a row was added to a
 *            matrix, and its gradient had the matrix's shape
 *   passes   the tests of that project; forward passes for every shape
 *   run      make grade T=02_naive_c/bug_hunt/00
 */
#include "operators.h"

/* Returns the offset in grad of the element that forward read at position i of
 * `common`. grad is contiguous, because it is an output. The loop goes from the last
 * axis to the first. Axes of size 1, and axes that grad lacks, add 0 to the offset. */
static int64_t place_read(const tensor_t *grad, const tensor_t *common, int64_t i)
{
    int64_t place = 0, step = 1;
    for (int32_t back = 1; back <= grad->ndim; back++) {
        const int64_t own = grad->size[grad->ndim - back];
        const int64_t extent = common->size[common->ndim - back];
        if (own > 1) place += step * (i % extent);
        i /= extent;
        step *= own;
    }
    return place;
}

/* For each i, adds grad_output[i] to grad_input, and alpha * grad_output[i] to
 * grad_other. Adds to the element that forward read at position i. */
status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other)
{
    const int64_t ARRIVED = tensor_numel(grad_output);
    tensor_t *const grads[2] = {grad_input, grad_other};
    const accum factors[2] = {1, (accum)p.alpha};
    const real *arrived = tensor_contiguous(ctx, grad_output);
    if (ARRIVED > 0 && !arrived) return STATUS_NO_MEMORY;

    for (int which = 0; which < 2; which++) {
        if (!grads[which]) continue;  // not wanted
        real *to = real_data(grads[which]);
        // BEGIN SOLUTION
        for (int64_t i = 0; i < tensor_numel(grads[which]); i++) to[i] = 0;
        // END SOLUTION
        // STARTER for (int64_t i = 0; i < ARRIVED; i++) to[i] = 0;
        for (int64_t i = 0; i < ARRIVED; i++) {
            to[place_read(grads[which], grad_output, i)] += factors[which] * arrived[i];
        }
    }
    return STATUS_OK;
}
