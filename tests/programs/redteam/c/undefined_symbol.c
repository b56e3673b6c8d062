// SPDX-License-Identifier: MIT
/* undefined_symbol - calls a function that exists nowhere */
#include "frame.h"

void convlab_function_that_is_nowhere(tensor_t *output);

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    convlab_function_that_is_nowhere(output);
    return STATUS_OK;
}

#include "backward.h"
