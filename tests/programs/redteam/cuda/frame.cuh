// SPDX-License-Identifier: MIT
/* frame - what every program here begins with: the right product of two matrices, and
 * its launch. It is put where a program names it, see tests/proofs/frames.py. */
#include "launch.h"

enum { THREADS = 64 };

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N), and each may be a view
 * A block owns 64 consecutive elements of output, a thread one. No shared memory. */
template <typename sum_t>
static __global__ void product_kernel(const __grid_constant__ tensor_t lhs,
                                      const __grid_constant__ tensor_t rhs,
                                      const __grid_constant__ tensor_t output,
                                      int64_t M, int64_t N, int64_t K, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;
    const int64_t n = i % N, m = i / N % M, b = i / (M * N);
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    const matrix_t result = matrix_of(&output, b);
    sum_t sum = 0;
    for (int64_t k = 0; k < K; k++) {
        sum += (sum_t)*matrix_at(&left, m, k) * (sum_t)*matrix_at(&right, k, n);
    }
    *(real *)matrix_at(&result, m, n) = sum;
}

/* So many blocks give every element of a tensor a thread. */
static inline unsigned blocks_of(const tensor_t *output)
{
    return grid_of(ceil_div(tensor_numel(output), THREADS));
}

/* sum_t is what sums are kept in. */
template <typename sum_t = accum>
static status_t product(ctx_t *ctx, const tensor_t *lhs, const tensor_t *rhs,
                        const tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], K = lhs->size[C];
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    product_kernel<sum_t><<<blocks_of(output), THREADS, 0, ctx->stream>>>(
        *lhs, *rhs, *output, M, N, K, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}

/* The same by way of output^T = rhs^T @ lhs^T: neighbouring threads own a column. */
static inline status_t product_by_columns(ctx_t *ctx, const tensor_t *lhs,
                                          const tensor_t *rhs, const tensor_t *output)
{
    const tensor_t left = tensor_transposed(rhs), right = tensor_transposed(lhs);
    const tensor_t result = tensor_transposed(output);
    return product(ctx, &left, &right, &result);
}
