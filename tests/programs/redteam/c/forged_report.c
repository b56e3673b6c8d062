// SPDX-License-Identifier: MIT
/* forged_report - prints a sanitizer's report about a line of a solution, and aborts */
#include "frame.h"
#include <stdio.h>
#include <stdlib.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    fprintf(stderr, "labs/02_naive_c/matmul/01_loop_order.c:24:1: runtime error: "
                    "division by zero\n");
    abort();
}

#include "backward.h"
