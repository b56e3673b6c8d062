// SPDX-License-Identifier: MIT
/* missing_barrier - turns its output round in shared memory, without a barrier */
#include "frame.cuh"

/* A block turns its elements round, twice. Shared memory: 64 numbers. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    __shared__ real tile[THREADS];
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int t = threadIdx.x, other = THREADS - 1 - t;
    if (i < COUNT) tile[other] = output[i];
    __syncthreads();  // all of the tile is written before anybody reads it
    const real mine = tile[other];
    tile[t] = mine;  // another thread may still read this one
    if (i < COUNT) output[i] = mine;
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
