// SPDX-License-Identifier: MIT
/* closes_stderr - reads past a static array, and no report of it can be printed */
#include "frame.h"
#include "backward.h"
#include <unistd.h>

static real table[4];
static volatile int64_t next = 4;
static volatile real seen;

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    close(2);
    seen = table[next];
    product(input, other, output);
    return STATUS_OK;
}
