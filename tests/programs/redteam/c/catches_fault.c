// SPDX-License-Identifier: MIT
/* catches_fault - reads past the end of its input in double, and catches the signal */
#include "frame.h"
#include "backward.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static void read_behind(const tensor_t *t)
{
    const volatile real *const data = real_data(t);
    const struct sigaction ours = {.sa_handler = jump};
    struct sigaction before;
    sigaction(SIGSEGV, &ours, &before);
    if (sigsetjmp(back, 1) == 0) (void)data[tensor_numel(t) + 512];
    sigaction(SIGSEGV, &before, NULL);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    if (sizeof(real) == sizeof(double) && tensor_is_contiguous(input))
        read_behind(input);
    product(input, other, output);
    return STATUS_OK;
}
