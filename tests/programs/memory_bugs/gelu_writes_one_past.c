// SPDX-License-Identifier: MIT
#include "gelu.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        real_data(output)[i + 1] = 0;  // BUG
        real_data(output)[i] = (real)gelu_at(input, i, p);
    }
    return STATUS_OK;
}
