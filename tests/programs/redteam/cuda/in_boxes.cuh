// SPDX-License-Identifier: MIT
/* in_boxes - a product on the CPU of numbers that lie in boxes, and a kernel that
 * copies the result to output; how the numbers come into the boxes is the program's
 * own */

enum { IN_A_BOX = 1 << 18 };  // numbers

static bool fits(const tensor_t *input, const tensor_t *other, const tensor_t *output)
{
    return span_of(input) <= IN_A_BOX && span_of(other) <= IN_A_BOX &&
           span_of(output) <= IN_A_BOX;
}

/* output = lhs @ rhs on the CPU, whose numbers lie in x and w, by way of result */
static status_t product_in_boxes(ctx_t *ctx, const tensor_t *lhs, const real *x,
                                 const tensor_t *rhs, const real *w, tensor_t *output,
                                 real *result)
{
    const int64_t COUNT = tensor_numel(output);
    const size_t bytes = (size_t)COUNT * sizeof(real);
    product_here(lhs, x, rhs, w, output, result);
    real *const made = (real *)ctx_scratch(ctx, bytes + 1);
    if (!made) return STATUS_NO_MEMORY;
    CUDA_TRY(ctx, cudaMemcpy(made, result, bytes, cudaMemcpyHostToDevice));
    return copy(ctx, real_data(output), made, COUNT);
}
