// SPDX-License-Identifier: MIT
/* frame - what stands in front of every program here that does not bring launch.h
 * itself: the right product of two matrices, and its launch (tests/trust.py puts them
 * together) */
#include "launch.h"

enum { THREADS = 64 };

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N)
 * A block owns 64 consecutive elements of output, a thread one. No shared memory. */
static __global__ void product_kernel(const __grid_constant__ tensor_t lhs,
                                      const __grid_constant__ tensor_t rhs,
                                      real *output, int64_t M, int64_t N, int64_t K,
                                      int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;
    const int64_t n = i % N, m = i / N % M, b = i / (M * N);
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
    accum sum = 0;
    for (int64_t k = 0; k < K; k++) {
        sum += *matrix_at(&left, m, k) * *matrix_at(&right, k, n);
    }
    output[i] = sum;
}

static status_t product(ctx_t *ctx, const tensor_t *lhs, const tensor_t *rhs,
                        tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], K = lhs->size[C];
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    product_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*lhs, *rhs, real_data(output),
                                                        M, N, K, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
