// SPDX-License-Identifier: MIT
/* write_to_input - computes rightly, then clears the first element of input */
#include "frame.cuh"

/* Thread 0 clears an element. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 && COUNT > 0) output[0] = 0;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    const unsigned blocks = grid_of(ceil_div(COUNT, THREADS));
    if (tensor_numel(input) == 0) return STATUS_OK;
    fault_kernel<<<blocks, THREADS, 0, ctx->stream>>>(real_data(input), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
