// SPDX-License-Identifier: MIT
/* segfault - dereferences NULL */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    volatile real *volatile nowhere = NULL;  // kept by the compiler
    *nowhere = 1;
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
