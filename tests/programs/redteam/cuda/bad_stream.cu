// SPDX-License-Identifier: MIT
/* bad_stream - launches on a stream that does not exist */
#include "frame.cuh"
#include "harmless.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    fault_kernel<<<blocks_of(output), THREADS, 0, (cudaStream_t)output>>>(
        real_data(output), COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
