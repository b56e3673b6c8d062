// SPDX-License-Identifier: MIT
/* output_100mb - once prints 100 MB to stdout and 1 MB to stderr; right */
#include "frame.h"
#include <stdio.h>
#include <string.h>

static void print_much(FILE *file, int64_t megabytes)
{
    static char line[1000];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int64_t i = 0; i < megabytes * 1000; i++) fwrite(line, 1, sizeof line, file);
    fflush(file);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    static int printed;
    if (!printed) {
        print_much(stdout, 100);
        print_much(stderr, 1);
        printed = 1;
    }
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
