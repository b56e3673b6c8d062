// SPDX-License-Identifier: MIT
/* nan - writes one NaN */
#include "frame.cuh"

/* Thread 0 spoils the first element. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 && COUNT > 0) output[0] = (real)NAN;
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
