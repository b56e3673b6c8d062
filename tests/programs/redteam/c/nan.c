// SPDX-License-Identifier: MIT
/* nan - writes one NaN */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (tensor_numel(output) > 0) real_data(output)[0] = (real)NAN;
    return STATUS_OK;
}

#include "backward.h"
