// SPDX-License-Identifier: MIT
/* double_fork - leaves a grandchild behind that sleeps 20 s; right */
#include "frame.cuh"
#include <sys/wait.h>
#include <unistd.h>

static void leave_one_behind(void)
{
    const pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) sleep(20);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    leave_one_behind();
    return product(ctx, input, other, output);
}
