// SPDX-License-Identifier: MIT
/* catches_fault - writes to input; its own handler of SIGSEGV skips the write */
#include "frame.h"
#include "backward.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf before_the_write;

static void go_on(int number)
{
    siglongjmp(before_the_write, number);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    struct sigaction former, ours = {.sa_handler = go_on};
    sigaction(SIGSEGV, &ours, &former);
    volatile real *const place = real_data(input);
    if (sigsetjmp(before_the_write, 1) == 0 && tensor_numel(input) > 0) place[0] = 0;
    sigaction(SIGSEGV, &former, NULL);
    product(input, other, output);
    return STATUS_OK;
}
