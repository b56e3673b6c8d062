// SPDX-License-Identifier: MIT
/* kills_itself - by the signal that tells of a want of memory */
#include "frame.h"
#include <signal.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    raise(SIGKILL);
    return STATUS_OK;
}

#include "backward.h"
