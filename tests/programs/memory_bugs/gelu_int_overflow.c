// SPDX-License-Identifier: MIT
#include "gelu.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(input); i++) {
        const int32_t far = ((int32_t)i + 1) * 65536 * 32767;  // BUG
        real_data(output)[i] = (real)gelu_at(input, far ? i : i, p);
    }
    return STATUS_OK;
}
