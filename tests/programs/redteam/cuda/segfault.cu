// SPDX-License-Identifier: MIT
/* segfault - a thread of a kernel dereferences NULL */
#include "frame.cuh"

/* One thread writes to address 0. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *(volatile real *)(COUNT - COUNT) = output[0];
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
