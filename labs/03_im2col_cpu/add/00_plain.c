/* 00 plain
 *
 *   idea    if no operand is broadcast, use one loop that the compiler can vectorise
 *   expect  no factor: 01_vectors is compared with this file, not with PyTorch
 *   limit   if an operand is broadcast, each element needs one division for each axis
 *   run     make bench T=03_im2col_cpu/add/00
 */
#include "operators.h"

/* Broadcasts t to the sizes of `shape`, and returns the offset of element i in t. An
 * axis of size 1 in t adds 0 to this offset. Axes that t does not have are skipped. */
static int64_t offset_of(const tensor_t *t, const tensor_t *shape, int64_t i)
{
    // BEGIN SOLUTION
    const int64_t missing = shape->ndim - t->ndim;  // axes that t lacks
    int64_t offset = 0;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        const int64_t size = shape->size[missing + d];
        if (t->size[d] != 1) offset += i % size * t->stride[d];
        i /= size;
    }
    return offset;
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER return 0;
}

static int is_plain(const tensor_t *t, const tensor_t *shape)
{
    return tensor_is_contiguous(t) && tensor_numel(t) == tensor_numel(shape);
}

/* grad = scale * grad_output, summed over all axes along which grad is broadcast */
static void sum_to_shape(const tensor_t *grad_output, accum scale, tensor_t *grad)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_numel(grad_output);
    const real *from = real_data(grad_output);
    real *restrict sums = real_data(grad);  // overlaps no input
    if (tensor_is_contiguous(grad_output) && is_plain(grad, grad_output)) {
        for (int64_t i = 0; i < COUNT; i++) sums[i] = scale * from[i];
        return;
    }
    for (int64_t i = 0; i < tensor_numel(grad); i++) sums[i] = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        const real term = from[tensor_offset(grad_output, grad_output->ndim, i)];
        sums[offset_of(grad, grad_output, i)] += scale * term;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 12 lines)
}

/* output = input + alpha * other; input and other broadcast to the shape of output */
status_t add_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                     add_params_t p, tensor_t *output)
{
    // BEGIN SOLUTION
    (void)ctx;
    const accum alpha = (accum)p.alpha;
    const int64_t COUNT = tensor_numel(output);
    const real *lhs = real_data(input), *rhs = real_data(other);
    real *restrict sums = real_data(output);  // overlaps no input
    if (is_plain(input, output) && is_plain(other, output)) {
        for (int64_t i = 0; i < COUNT; i++) sums[i] = lhs[i] + alpha * rhs[i];
        return STATUS_OK;
    }
    for (int64_t i = 0; i < COUNT; i++) {
        const real left = lhs[offset_of(input, output, i)];
        sums[i] = left + alpha * rhs[offset_of(other, output, i)];
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 14 lines)
    // STARTER (void)offset_of, (void)is_plain, (void)sum_to_shape;
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* Sums grad_output to the shape of input, alpha * grad_output to the shape of other. */
status_t add_backward(ctx_t *ctx, const tensor_t *grad_output, add_params_t p,
                      tensor_t *grad_input, tensor_t *grad_other)
{
    // BEGIN SOLUTION
    (void)ctx;
    if (grad_input) sum_to_shape(grad_output, 1, grad_input);
    if (grad_other) sum_to_shape(grad_output, (accum)p.alpha, grad_other);
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
