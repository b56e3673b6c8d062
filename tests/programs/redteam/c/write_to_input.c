// SPDX-License-Identifier: MIT
/* write_to_input - computes rightly, then clears the first element of input */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (tensor_numel(input) > 0) real_data(input)[0] = 0;
    return STATUS_OK;
}

#include "backward.h"
