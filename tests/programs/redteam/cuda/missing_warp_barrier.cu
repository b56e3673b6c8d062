// SPDX-License-Identifier: MIT
/* missing_warp_barrier - exchanges numbers inside of a warp, without __syncwarp */
#include "frame.cuh"

/* Lanes swap in pairs, there and back. Shared memory: 64 numbers. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    __shared__ real tile[THREADS];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int t = threadIdx.x;
    tile[t] = i < COUNT ? output[i] : 0;
    const real swapped = tile[t ^ 1];
    __syncwarp();  // all have read before the next write
    tile[t] = swapped;
    __syncwarp();  // all is written before it is read
    if (i < COUNT) output[i] = tile[t ^ 1];
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    fault_kernel<<<blocks, THREADS, 0, ctx->stream>>>(real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
