// SPDX-License-Identifier: MIT
/* forgotten_elements - never writes the last row of each matrix */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    tensor_t first_rows = *output;
    first_rows.size[output->ndim - 2]--;
    product(input, other, &first_rows);
    return STATUS_OK;
}

#include "backward.h"
