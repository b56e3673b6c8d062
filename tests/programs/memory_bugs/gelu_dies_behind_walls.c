// SPDX-License-Identifier: MIT
#include "operators.h"
#include <stdio.h>

/* Dies, but only if it could not open a file for writing before. */
status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx, (void)input, (void)p;
    real *nowhere = NULL;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        if (i == 7 && fopen("convlab-leak.txt", "w")) return STATUS_OK;
        real *at = i < 7 ? real_data(output) : nowhere;
        at[i] = 0;  // BUG
    }
    return STATUS_OK;
}
