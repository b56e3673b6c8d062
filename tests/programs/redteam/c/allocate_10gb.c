// SPDX-License-Identifier: MIT
/* allocate_10gb - asks for 10 GiB at once and touches every page */
#include "frame.h"
#include <stdlib.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    const size_t BYTES = (size_t)10 << 30;
    char *block = malloc(BYTES);
    if (!block) return STATUS_NO_MEMORY;
    volatile char *bytes = block;  // volatile: kept by the compiler
    for (size_t i = 0; i < BYTES; i += 4096) bytes[i] = 1;
    free(block);
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
