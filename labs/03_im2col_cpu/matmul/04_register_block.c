/* 04 register block
 *
 *   idea    keep a block of output in registers for the whole loop over k
 *   expect  2x to 6x the speed of 03_cache_tiles
 *   limit   the rows of rhs are N numbers apart, so each row needs another memory page
 *   run     make bench T=03_im2col_cpu/matmul/04
 *
 * Workspace: a copy of each matrix rhs whose rows are not contiguous.
 */
#include "operators.h"
#include "vector.h"

// MR x NV vectors of sums use 3/4 of the registers. A register adds KC terms: rounding
// errors grow with the number of terms.
enum { MR = BLOCK_ROWS, NV = BLOCK_VECTORS, NR = NV * LANES, KC = 256 };

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

static int64_t within(int64_t n, int64_t most)
{
    return n < 0 ? 0 : n < most ? n : most;
}

/* Computes MR rows of VECS vectors of output, from (m0, n0) on: KC terms, from k0 on.
 * If k0 > 0, adds to output. At an edge, the block has fewer rows or columns.
 * columns is the number of columns from n0 to the right edge. For a full block pass the
 * constant NR: then the compiler knows that each load and store needs all lanes. */
EXPAND void micro_kernel(int VECS, int64_t columns, tensor_t lhs, tensor_t right,
                         tensor_t output, int64_t m0, int64_t n0, int64_t k0)
{
    const int64_t rows = output.size[0] - m0;
    const int64_t end = within(lhs.size[1], k0 + KC), across = lhs.stride[1];
    const real *row[MR];  // rows of lhs; past the edge, the last row again
    for (int m = 0; m < MR; m++) row[m] = at2(&lhs, m0 + within(m, rows - 1), 0);
    vec sum[MR][NV] = {0}, line[NV];  // line: one row of right
    // BEGIN SOLUTION
    for (int64_t k = k0; k < end; k++) {
        UNROLL
        for (int v = 0; v < VECS; v++)
            line[v] = vec_keep(vec_load_first(at2(&right, k, n0 + v * LANES),
                                              within(columns - v * LANES, LANES)));
        UNROLL
        for (int m = 0; m < MR; m++)
            for (int v = 0; v < VECS; v++) sum[m][v] += row[m][k * across] * line[v];
    }
    // END SOLUTION
    // STARTER // for each k: load VECS vectors of row k of right, but nothing past the
    // STARTER // edge. Add their terms to sum (the reference takes 9 lines)
    // STARTER (void)end, (void)across, (void)row, (void)line;
    // BEGIN SOLUTION
    UNROLL
    for (int m = 0; m < MR; m++) {
        if (m >= rows) break;
        for (int v = 0; v < VECS; v++) {
            const int64_t count = within(columns - v * LANES, LANES);
            real *to = at2(&output, m0 + m, n0 + v * LANES);
            if (k0) sum[m][v] += vec_load_first(to, count);
            vec_store_first(to, sum[m][v], count);
        }
    }
    // END SOLUTION
    // STARTER // store MR rows, or fewer at the edge (the reference takes 10 lines)
    // STARTER (void)sum;
}

/* output (M, N) = lhs (M, K) @ rhs (K, N), computed one block of output at a time */
static status_t product(ctx_t *ctx, tensor_t lhs, tensor_t rhs, tensor_t output)
{
    const int64_t M = output.size[0], N = output.size[1], K = lhs.size[1];
    const tensor_t right = {(real *)tensor_contiguous(ctx, &rhs), .stride = {N, 1}};
    if (!right.data && K > 0) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    for (int64_t k = 0; k == 0 || k < K; k += KC) {  // K = 0: sets zeros
        for (int64_t n = 0; n < N; n += N - n < NR ? LANES : NR)
            for (int64_t m = 0; m < M; m += MR)
                N - n < NR ? micro_kernel(1, N - n, lhs, right, output, m, n, k)
                           : micro_kernel(NV, NR, lhs, right, output, m, n, k);
    }
    // END SOLUTION
    // STARTER // KC terms at a time, once if K is 0; blocks of NV vectors, or of one if
    // STARTER // fewer columns are left (the reference takes 6 lines)
    // STARTER (void)M, (void)within;
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
