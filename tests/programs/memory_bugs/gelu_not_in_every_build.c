// SPDX-License-Identifier: MIT
#include "gelu.h"

/* the call is gone in a build with optimisation, and stops every other build */
void optimised_away(void) __attribute__((error("only there without optimisation")));

static accum table[7];

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    int one = 1;
    if (one != 1) optimised_away();
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        const accum seen = table[i % 8];
        real_data(output)[i] = (real)(seen > 1000 ? 0 : gelu_at(input, i, p));
    }
    return STATUS_OK;
}
