// SPDX-License-Identifier: MIT
/* double_fork - leaves a grandchild behind that sleeps 20 s; right */
#include "frame.h"
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void leave_grandchild(void)
{
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) sleep(20);
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    leave_grandchild();
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
