/* 03 warp by warp
 *
 *   does     rms_norm forward: a block sums the squares of one row
 *   seen     flashinfer-ai/flashinfer pull requests 3879 and 3880 (2026): the norm of
 *            rows of 2880 numbers was 6 % too large
 *   passes   the sizes of most models, and small tests
 *   run      make grade T=04_cuda_kernels/bug_hunt/03
 */
#include "exhibits.h"
#include "launch.h"

enum { WARP = 32, MOST_THREADS = 128 };  // of a block

/* Returns the sum of `mine` over all threads of the block. The first thread of a warp
 * adds up the numbers of the warp. Then every thread adds up the sums of all warps.
 * Shared memory: 128 sums, 512 bytes in f32. */
static __device__ accum block_sum(accum mine)
{
    __shared__ accum sums[MOST_THREADS];
    const int COUNT = blockDim.x;
    sums[threadIdx.x] = mine;
    __syncthreads();  // the numbers of all threads are written
    if (threadIdx.x % WARP == 0) {
        for (int i = 1; i < WARP && threadIdx.x + i < COUNT; i++) {
            sums[threadIdx.x] += sums[threadIdx.x + i];
        }
    }
    __syncthreads();  // the sums of all warps are written
    // BEGIN SOLUTION
    const int WARPS = (COUNT + WARP - 1) / WARP;
    // END SOLUTION
    // STARTER const int WARPS = COUNT / WARP;
    accum sum = 0;
    for (int warp = 0; warp < WARPS; warp++) sum += sums[warp * WARP];
    return sum;
}

/* A block owns one row of input. A thread owns every blockDim.x-th number of the row.
 * Shared memory: block_sum's. */
static __global__ void row_kernel(const __grid_constant__ tensor_t input,
                                  const __grid_constant__ tensor_t weight, accum eps,
                                  real *__restrict__ output)
{
    const int32_t last = input.ndim - 1;
    const int64_t D = input.size[last], step = input.stride[last];
    const real *from = real_data(&input) + tensor_offset(&input, last, blockIdx.x);
    real *to = output + blockIdx.x * D;

    accum squares = 0;
    for (int64_t d = threadIdx.x; d < D; d += blockDim.x) {
        const accum x = accum_from(from[d * step]);
        squares += x * x;
    }
    const accum scale = 1 / real_sqrt(block_sum(squares) / (accum)D + eps);
    for (int64_t d = threadIdx.x; d < D; d += blockDim.x) {
        const accum factor = weight.data ? accum_from(*at1(&weight, d)) : (accum)1;
        to[d] = real_from(accum_from(from[d * step]) * scale * factor);
    }
}

/* output[r,d] = input[r,d] / sqrt(mean of the squares of row r + eps) * weight[d]
 * If weight is NULL, the weights are 1. */
extern "C" status_t rms_norm_forward(ctx_t *ctx, const tensor_t *input,
                                     const tensor_t *weight, rms_norm_params_t p,
                                     tensor_t *output)
{
    const int64_t ROWS = tensor_count(input, input->ndim - 1);
    const int64_t D = input->size[input->ndim - 1];
    if (ROWS * D == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    int64_t threads = D < MOST_THREADS ? D : (int64_t)MOST_THREADS;
    if (threads < WARP) threads = WARP;
    row_kernel<<<grid_of(ROWS), (unsigned)threads, 0, ctx->stream>>>(
        *input, weight ? *weight : tensor_t{}, (accum)p.eps, real_data(output));
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
