// SPDX-License-Identifier: MIT
/* abort - calls abort */
#include "frame.h"
#include <stdlib.h>

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx, (void)input, (void)other, (void)output;
    abort();
}

#include "backward.h"
