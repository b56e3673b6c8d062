// SPDX-License-Identifier: MIT
/* spends_its_limit - lets the kernel kill it, by a limit of its own on time */
#include "frame.h"
#include <sys/resource.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CPU, &none);
    for (volatile int spins = 0;; spins++) continue;
}

#include "backward.h"
