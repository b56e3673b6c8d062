// SPDX-License-Identifier: MIT
/* overrun_read_before - reads one row before the start of input and mixes it in */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (tensor_numel(input) == 0) return STATUS_OK;
    const real *outside = real_data(input) - columns(input);  // (K)
    accum sum = 0;
    for (int64_t k = 0; k < columns(input); k++) sum += outside[k];
    add_to_all(output, (real)sum);
    return STATUS_OK;
}

#include "backward.h"
