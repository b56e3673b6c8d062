// SPDX-License-Identifier: MIT
/* raises_exception - dies of SIGFPE, as of a division by zero */
#include "frame.h"
#include <signal.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    raise(SIGFPE);
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
