// SPDX-License-Identifier: MIT
#include "gelu.h"

static accum table[7];

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        const accum *half = &table[i % 8];
        const accum y = gelu_at(input, i, p);
        const accum seen = *half;  // BUG
        real_data(output)[i] = (real)(seen > 1000 ? 0 : y);
    }
    return STATUS_OK;
}
