/* 00 ijk
 *
 *   idea    the definition: each output is the dot product of a row and a column
 *   expect  no factor: 01_ikj is compared with this file, not with PyTorch
 *   limit   each load from a column of rhs needs another cache line
 *   run     make bench T=03_im2col_cpu/matmul/00
 */
#include "operators.h"

/* Returns a view of t with the last two axes exchanged. No element is copied. */
static tensor_t transposed(const tensor_t *t)
{
    const int32_t m = t->ndim - 2, n = t->ndim - 1;
    tensor_t view = *t;
    // BEGIN SOLUTION
    view.size[m] = t->size[n], view.size[n] = t->size[m];
    view.stride[m] = t->stride[n], view.stride[n] = t->stride[m];
    // END SOLUTION
    // STARTER // exchange the sizes and the strides (the reference takes 2 lines)
    // STARTER (void)m, (void)n;
    return view;
}

/* Returns a view of matrix b of the batch t, with two axes. No element is copied. */
static tensor_t matrix_of(const tensor_t *t, int64_t b)
{
    const int32_t batch = t->ndim - 2;  // the number of axes before the matrix
    return (tensor_t){.data = real_data(t) + tensor_offset(t, batch, b),
                      .ndim = 2,
                      .size = {t->size[batch], t->size[batch + 1]},
                      .stride = {t->stride[batch], t->stride[batch + 1]}};
}

/* output (M, N) = lhs (M, K) @ rhs (K, N) */
static void product(tensor_t lhs, tensor_t rhs, tensor_t output)
{
    // BEGIN SOLUTION
    const int64_t M = output.size[0], N = output.size[1], K = lhs.size[1];
    for (int64_t m = 0; m < M; m++) {
        for (int64_t n = 0; n < N; n++) {
            accum sum = 0;  // stays 0 if K is 0
            for (int64_t k = 0; k < K; k++) sum += *at2(&lhs, m, k) * *at2(&rhs, k, n);
            *at2(&output, m, n) = (real)sum;
        }
    }
    // END SOLUTION
    // STARTER // three loops, with a sum for each output (the reference takes 8 lines)
}

/* For each matrix of the batch: output = input (..., M, K) @ other (..., K, N) */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when product is written
    (void)ctx;
    if (tensor_numel(output) == 0) return STATUS_OK;
    for (int64_t b = 0; b < tensor_count(output, output->ndim - 2); b++) {
        product(matrix_of(input, b), matrix_of(other, b), matrix_of(output, b));
    }
    return STATUS_OK;
}

/* grad_input (..., M, K) = grad_output (..., M, N) @ other^T (..., N, K)
 * grad_other (..., K, N) = input^T (..., K, M) @ grad_output (..., M, N) */
status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    // BEGIN SOLUTION
    const tensor_t lhs = transposed(input), rhs = transposed(other);
    status_t status = STATUS_OK;
    if (grad_input) status = matmul_forward(ctx, grad_output, &rhs, grad_input);
    if (status != STATUS_OK || !grad_other) return status;
    return matmul_forward(ctx, &lhs, grad_output, grad_other);
    // END SOLUTION
    // STARTER // compute two products of transposes (the reference takes 5 lines)
    // STARTER (void)transposed;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
