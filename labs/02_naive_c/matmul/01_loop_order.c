/* 01 loop order
 *
 *   idea    the same sums in another loop order: the innermost loop goes along rows
 *   expect  10x the speed of 00_definition
 *   limit   each multiply-add loads and stores an output, so the cache sets the speed
 *   run     make grade T=02_naive_c/matmul/01
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

/* Computes output (M, N) = lhs (M, K) @ rhs (K, N). Row m of output is the sum over k
 * of lhs[m,k] times row k of rhs. The N sums of a row are independent. The rows of a
 * transpose are strided, so rhs is copied: K*N copies for M*K*N multiply-adds.
 * Workspace: at most a copy of rhs. */
static status_t product(ctx_t *ctx, tensor_t lhs, tensor_t rhs, tensor_t output)
{
    const int64_t M = output.size[0], N = output.size[1], K = lhs.size[1];
    const real *rows = tensor_contiguous(ctx, &rhs);  // (K, N)
    if (!rows && K * N > 0) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    for (int64_t m = 0; m < M; m++) {
        real *restrict sums = at2(&output, m, 0);  // (N), overlaps no input
        for (int64_t n = 0; n < N; n++) sums[n] = 0;
        for (int64_t k = 0; k < K; k++) {
            const real factor = *at2(&lhs, m, k);
            for (int64_t n = 0; n < N; n++) sums[n] += factor * rows[k * N + n];
        }
    }
    // END SOLUTION
    // STARTER // your code: one row of output at a time (the reference takes 8 lines)
    // STARTER (void)M;  // delete this line when your loop uses it
    return STATUS_OK;
}

/* Computes output = input (..., M, K) @ other (..., K, N), one product per matrix. */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when product is written
    const int64_t COUNT = tensor_count(output, output->ndim - 2);  // matrices
    status_t status = STATUS_OK;
    for (int64_t b = 0; b < COUNT && status == STATUS_OK; b++) {
        status = product(ctx, matrix_of(input, b), matrix_of(other, b),
                         matrix_of(output, b));
    }
    return status;
}

/* grad_input (M, K) = grad_output (M, N) @ other^T (N, K)
 * grad_other (K, N) = input^T (K, M) @ grad_output (M, N)     for each matrix */
status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    // BEGIN SOLUTION
    const int64_t COUNT = tensor_count(grad_output, grad_output->ndim - 2);
    status_t status = STATUS_OK;
    for (int64_t b = 0; b < COUNT && status == STATUS_OK; b++) {
        const tensor_t grad = matrix_of(grad_output, b);       // (M, N)
        const tensor_t lhs = transposed(matrix_of(input, b));  // (K, M)
        const tensor_t rhs = transposed(matrix_of(other, b));  // (N, K)
        if (grad_input) status = product(ctx, grad, rhs, matrix_of(grad_input, b));
        if (status != STATUS_OK) break;
        if (grad_other) status = product(ctx, lhs, grad, matrix_of(grad_other, b));
    }
    return status;
    // END SOLUTION
    // STARTER // your code: loop over the matrices (the reference takes 11 lines)
    // STARTER (void)transposed;  // delete this line when you call it
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
