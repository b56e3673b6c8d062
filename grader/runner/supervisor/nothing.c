// SPDX-License-Identifier: MIT
/* nothing - a rung that does nothing, to time only the wake of a worker */
#include "operators.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx, (void)input, (void)p, (void)output;
    return STATUS_OK;
}
