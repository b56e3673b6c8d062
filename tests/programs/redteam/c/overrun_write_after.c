// SPDX-License-Identifier: MIT
/* overrun_write_after - writes one row past the end of output */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    real *outside = real_data(output) + COUNT;  // (N)
    for (int64_t n = 0; n < columns(output); n++) outside[n] = 0;
    return STATUS_OK;
}

#include "backward.h"
