/* 03 cache tiles
 *
 *   idea    use one tile of rhs, which fits into the cache, for all rows of output
 *   expect  up to 1.2x the speed of 02_contiguous_rows if rhs is larger than L2
 *   limit   each vector of multiply-adds needs two loads and a store in the L1 cache
 *   run     make bench T=03_im2col_cpu/matmul/03
 *
 * Workspace: a copy of each matrix rhs whose rows are not contiguous.
 */
#include "operators.h"

enum { KC = 128, NC = 512 };  // a tile of rhs, KC x NC: 256 KiB of floats

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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* output (M, NB) += lhs (M, KB) @ right (KB, NB). The rows of `right` are N apart. */
static void tile_product(tensor_t lhs, const real *right, int64_t N, int64_t KB,
                         int64_t NB, tensor_t output)
{
    // BEGIN SOLUTION
    for (int64_t m = 0; m < output.size[0]; m++) {
        real *restrict sums = at2(&output, m, 0);  // (NB), overlaps no input
        for (int64_t k = 0; k < KB; k++) {
            const real factor = *at2(&lhs, m, k);
            const real *row = right + k * N;
            for (int64_t n = 0; n < NB; n++) sums[n] += factor * row[n];
        }
    }
    // END SOLUTION
    // STARTER // write the loops of 02_contiguous_rows, but set no zeros
    // STARTER // (the reference takes 8 lines)
}

/* output (M, N) = lhs (M, K) @ rhs (K, N), computed with one tile of rhs at a time */
static status_t product(ctx_t *ctx, tensor_t lhs, tensor_t rhs, tensor_t output)
{
    const int64_t COUNT = tensor_numel(&output), N = output.size[1], K = lhs.size[1];
    const real *right = tensor_contiguous(ctx, &rhs);  // (K, N)
    if (!right && K > 0) return STATUS_NO_MEMORY;

    for (int64_t i = 0; i < COUNT; i++) real_data(&output)[i] = 0;
    // BEGIN SOLUTION
    for (int64_t n = 0; n < N; n += NC) {
        for (int64_t k = 0; k < K; k += KC) {
            tensor_t left = lhs, sums = output;
            left.data = at2(&lhs, 0, k), sums.data = at2(&output, 0, n);
            tile_product(left, right + k * N + n, N, least(K - k, KC), least(N - n, NC),
                         sums);
        }
    }
    // END SOLUTION
    // STARTER // use each tile of rhs for all rows of output
    // STARTER // (the reference takes 8 lines)
    // STARTER (void)N, (void)least, (void)tile_product;
    return STATUS_OK;
}

/* For each matrix of the batch: output = input (..., M, K) @ other (..., K, N) */
status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when product is written
    if (tensor_numel(output) == 0) return STATUS_OK;
    for (int64_t b = 0; b < tensor_count(output, output->ndim - 2); b++) {
        const tensor_t lhs = matrix_of(input, b), rhs = matrix_of(other, b);
        const status_t status = product(ctx, lhs, rhs, matrix_of(output, b));
        if (status != STATUS_OK) return status;
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
