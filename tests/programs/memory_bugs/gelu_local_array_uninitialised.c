// SPDX-License-Identifier: MIT
#include "gelu.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    accum tile[16];
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        tile[i % 16] += gelu_at(input, i, p);  // BUG
        real_data(output)[i] = (real)tile[i % 16];
        tile[i % 16] = 0;
    }
    return STATUS_OK;
}
