/* 00 definition
 *
 *   idea    each output is the dot product of a row of lhs and a column of rhs
 *   expect  no factor: 01_loop_order is compared with this file, not with PyTorch
 *   limit   the loop goes down a column of rhs, so each load needs a new cache line
 *   run     make grade T=02_naive_c/matmul/00
 */
#include "operators.h"

/* Returns a view (rows, columns) of matrix b of the batch t. No element is copied. */
static tensor_t matrix_of(const tensor_t *t, int64_t b)
{
    const int32_t batch = t->ndim - 2;  // the number of axes before the matrix
    return (tensor_t){
        .data = t->data ? real_data(t) + tensor_offset(t, batch, b) : NULL,
        .ndim = 2,
        .dtype = t->dtype,
        .device = t->device,
        .size = {t->size[batch], t->size[batch + 1]},
        .stride = {t->stride[batch], t->stride[batch + 1]},
    };
}

/* Returns a view of the transpose: exchanges sizes and strides, copies no element. */
static tensor_t transposed(tensor_t matrix)
{
    tensor_t view = matrix;
    // BEGIN SOLUTION
    view.size[0] = matrix.size[1], view.size[1] = matrix.size[0];
    view.stride[0] = matrix.stride[1], view.stride[1] = matrix.stride[0];
    // END SOLUTION
    // STARTER // your code (the reference takes 2 lines)
    return view;
}

/* Computes the matrix product output (M, N) = lhs (M, K) @ rhs (K, N). */
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
    // STARTER // your code: three loops (the reference takes 8 lines)
}

/* Computes output = input (..., M, K) @ other (..., K, N), one product per matrix. */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when product is written
    (void)ctx;
    const int64_t COUNT = tensor_count(output, output->ndim - 2);  // matrices
    for (int64_t b = 0; b < COUNT; b++) {
        product(matrix_of(input, b), matrix_of(other, b), matrix_of(output, b));
    }
    return STATUS_OK;
}

/* grad_input (M, K) = grad_output (M, N) @ other^T (N, K)
 * grad_other (K, N) = input^T (K, M) @ grad_output (M, N)     for each matrix */
status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    // BEGIN SOLUTION
    (void)ctx;
    const int64_t COUNT = tensor_count(grad_output, grad_output->ndim - 2);
    for (int64_t b = 0; b < COUNT; b++) {
        const tensor_t grad = matrix_of(grad_output, b);       // (M, N)
        const tensor_t lhs = transposed(matrix_of(input, b));  // (K, M)
        const tensor_t rhs = transposed(matrix_of(other, b));  // (N, K)
        if (grad_input) product(grad, rhs, matrix_of(grad_input, b));
        if (grad_other) product(lhs, grad, matrix_of(grad_other, b));
    }
    return STATUS_OK;
    // END SOLUTION
    // STARTER // your code: loop over the matrices (the reference takes 10 lines)
    // STARTER (void)transposed;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
