// SPDX-License-Identifier: MIT
/* exit_0 - ends the process in the middle of a call, status 0 */
#include "frame.cuh"
#include <stdlib.h>

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    exit(0);
    return product(ctx, input, other, output);
}
