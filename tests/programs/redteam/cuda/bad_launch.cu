// SPDX-License-Identifier: MIT
/* bad_launch - asks for a block of 2048 threads, and does not look at the answer */
#include "frame.cuh"
#include "harmless.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    fault_kernel<<<blocks_of(output), 2048, 0, ctx->stream>>>(real_data(output), COUNT);
    (void)cudaGetLastError();
    return STATUS_OK;
}
