/* 00 naive
 *
 *   idea    each thread computes one output: a row of input times a column of other
 *   expect  no factor: 01_coalesced is compared with this file, not with PyTorch
 *   limit   the 32 threads of a warp read 32 rows of input: a request needs 32 sectors
 *   run     make grade T=04_cuda_kernels/matmul/00
 */
#include "launch.h"

enum { THREADS = 256 };  // of a block

/* Computes output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N).
 * A block owns 256 elements of output, a thread owns one. Neighbouring threads own
 * neighbouring rows of one column of output. The kernel uses no shared memory. */
static __global__ void matmul_kernel(const __grid_constant__ tensor_t lhs,
                                     const __grid_constant__ tensor_t rhs,
                                     real *__restrict__ output, int64_t M, int64_t N,
                                     int64_t K, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    const int64_t m = i % M, n = i / M % N, b = i / (M * N);
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);

    accum sum = 0;  // stays 0 if K is 0
    for (int64_t k = 0; k < K; k++) {
        sum +=
            accum_from(*matrix_at(&left, m, k)) * accum_from(*matrix_at(&right, k, n));
    }
    output[(b * M + m) * N + n] = real_from(sum);
    // END SOLUTION
    // STARTER // your code: m, n and b of element i, then the loop over k
    // STARTER // (the reference takes 8 lines)
}

/* Launches a kernel for output (..., M, N) = input (..., M, K) @ other (..., K, N). */
extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    const int64_t M = output->size[output->ndim - 2];
    const int64_t N = output->size[output->ndim - 1];
    const int64_t K = input->size[input->ndim - 1];
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    matmul_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *input, *other, real_data(output), M, N, K, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
