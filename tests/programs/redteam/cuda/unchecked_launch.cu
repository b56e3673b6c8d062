// SPDX-License-Identifier: MIT
/* unchecked_launch - does not ask whether its launch failed */
#include "frame.cuh"
#include "harmless.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const status_t status = product(ctx, input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (status != STATUS_OK || COUNT == 0) return status;
    fault_kernel<<<blocks_of(output), THREADS, 0, ctx->stream>>>(real_data(output),
                                                                 COUNT);
    return STATUS_OK;
}
