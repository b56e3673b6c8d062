/* 00 broadcast
 *
 *   idea    loop over the output once; a stretched axis adds nothing to the offset
 *   expect  no factor: this ladder has only one file
 *   limit   index arithmetic: each element of each operand costs a division per axis
 *   run     make grade T=02_naive_c/add/00
 */
#include "operators.h"

/* Returns the offset from t->data of the element that forward reads at position i of
 * `shape`, the common shape. Axes are aligned at the last axis. An axis of t with size
 * 1 adds nothing to the offset. Axes of `shape` that t lacks are skipped:
 *
 *     shape (2, 3, 4)    position 17 has the index   1, 1, 1
 *     t        (3, 1)    its element has the index      1, 0    */
static int64_t broadcast_offset(const tensor_t *t, const tensor_t *shape, int64_t i)
{
    // BEGIN SOLUTION
    const int32_t missing = shape->ndim - t->ndim;  // axes that t lacks
    int64_t offset = 0;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        const int64_t size = shape->size[missing + d];
        if (t->size[d] != 1) offset += i % size * t->stride[d];
        i /= size;
    }
    return offset;
    // END SOLUTION
    // STARTER // your code: loop over the axes, from the last to the first
    // STARTER // (the reference takes 8 lines)
    // STARTER return 0;
}

/* Computes grad = scale * grad_output, summed to the shape of grad. If forward read an
 * element at many positions, adds the terms of all these positions. */
static void sum_to_shape(const tensor_t *grad_output, accum scale, tensor_t *grad)
{
    // BEGIN SOLUTION
    const int32_t axes = grad_output->ndim;
    real *sums = real_data(grad);
    for (int64_t i = 0; i < tensor_numel(grad); i++) sums[i] = 0;

    for (int64_t i = 0; i < tensor_numel(grad_output); i++) {
        const real term = real_data(grad_output)[tensor_offset(grad_output, axes, i)];
        sums[broadcast_offset(grad, grad_output, i)] += scale * term;
    }
    // END SOLUTION
    // STARTER // your code: set zeros first (the reference takes 7 lines)
}

/* Computes output = input + alpha * other, broadcast to the shape of output. */
status_t add_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                     add_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    const accum alpha = (accum)p.alpha;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const real lhs = real_data(input)[broadcast_offset(input, output, i)];
        const real rhs = real_data(other)[broadcast_offset(other, output, i)];
        real_data(output)[i] = lhs + alpha * rhs;  // outputs are contiguous
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: one loop over output (the reference takes 8 lines)
    // STARTER (void)broadcast_offset;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Sums grad_output to the shape of grad_input, alpha * grad_output to grad_other. */
status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when sum_to_shape is written
    (void)ctx;
    if (grad_input) sum_to_shape(grad_output, 1, grad_input);
    if (grad_other) sum_to_shape(grad_output, (accum)p.alpha, grad_other);
    return STATUS_OK;
}
