// SPDX-License-Identifier: MIT
/* exit_0 - ends the process in the middle of a call, status 0 */
#include "frame.h"
#include <stdlib.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx, (void)input, (void)other, (void)output;
    exit(0);
}

#include "backward.h"
