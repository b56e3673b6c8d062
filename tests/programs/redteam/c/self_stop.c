// SPDX-License-Identifier: MIT
/* self_stop - stops itself in the middle of a call, as if it were frozen */
#include "frame.h"
#include <signal.h>
#include <unistd.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    kill(getpid(), SIGSTOP);
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
