// SPDX-License-Identifier: MIT
/* endless_loop - blocks all signals and spins for ever */
#include "frame.h"
#include <signal.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx, (void)input, (void)other, (void)output;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    volatile int spins = 0;
    for (;;) spins = !spins;
}

#include "backward.h"
