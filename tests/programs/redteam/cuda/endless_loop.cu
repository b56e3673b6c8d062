// SPDX-License-Identifier: MIT
/* endless_loop - the launcher never returns */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    volatile int more = 1;
    while (more) continue;
    return product(ctx, input, other, output);
}
