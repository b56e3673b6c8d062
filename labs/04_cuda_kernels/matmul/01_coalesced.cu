/* 01 coalesced
 *
 *   idea    neighbouring threads own a row of output, and read neighbours in memory
 *   expect  6.6 times fewer bytes asked for than 00_naive; published: 6x the speed
 *   limit   two loads from global memory for every multiply-add
 *   run     make grade T=04_cuda_kernels/matmul/01
 */
#include "launch.h"

enum { THREADS = 256 };  // of a block

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N)
 * A block owns 256 consecutive elements of output, a thread one; neighbouring threads
 * walk along n, so they share a number of lhs and read neighbours of rhs. No shared
 * memory. */
// BEGIN SOLUTION
static __global__ void matmul_kernel(const __grid_constant__ tensor_t lhs,
                                     const __grid_constant__ tensor_t rhs,
                                     real *__restrict__ output, int64_t M, int64_t N,
                                     int64_t K, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    const int64_t n = i % N, m = i / N % M, b = i / (M * N);
    const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);

    accum sum = 0;  // stays 0 if K is 0
    for (int64_t k = 0; k < K; k++) {
        sum +=
            accum_from(*matrix_at(&left, m, k)) * accum_from(*matrix_at(&right, k, n));
    }
    output[i] = real_from(sum);
}
// END SOLUTION
// STARTER // the kernel (the reference takes 16 lines)

// BEGIN SOLUTION
/* output = lhs @ rhs, matrix by matrix, on the stream */
static status_t product(ctx_t *ctx, const tensor_t *lhs, const tensor_t *rhs,
                        tensor_t *output)
{
    const int64_t M = output->size[output->ndim - 2];
    const int64_t N = output->size[output->ndim - 1];
    const int64_t K = lhs->size[lhs->ndim - 1];
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    matmul_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*lhs, *rhs, real_data(output), M,
                                                       N, K, COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
// END SOLUTION
// STARTER // a helper for one product, if you want one (the reference takes 14 lines)

/* output = input (..., M, K) @ other (..., K, N), matrix by matrix */
extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    // BEGIN SOLUTION
    return product(ctx, input, other, output);
    // END SOLUTION
    // STARTER // your code (the reference takes 1 line)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}

/* grad_input (M, K) = grad_output (M, N) @ other^T (N, K)
 * grad_other (K, N) = input^T (K, M) @ grad_output (M, N)     for each matrix */
extern "C" status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *other,
                                    tensor_t *grad_input, tensor_t *grad_other)
{
    // BEGIN SOLUTION
    const tensor_t lhs = tensor_transposed(input), rhs = tensor_transposed(other);
    status_t status = STATUS_OK;
    if (grad_input) status = product(ctx, grad_output, &rhs, grad_input);
    if (status != STATUS_OK || !grad_other) return status;
    return product(ctx, &lhs, grad_output, grad_other);
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
