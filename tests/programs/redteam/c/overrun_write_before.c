// SPDX-License-Identifier: MIT
/* overrun_write_before - writes one row before the start of output */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (tensor_numel(output) == 0) return STATUS_OK;
    real *outside = real_data(output) - columns(output);  // (N)
    for (int64_t n = 0; n < columns(output); n++) outside[n] = 0;
    return STATUS_OK;
}

#include "backward.h"
