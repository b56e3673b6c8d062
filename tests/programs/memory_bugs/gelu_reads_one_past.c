// SPDX-License-Identifier: MIT
#include "gelu.h"

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    (void)ctx;
    const int64_t COUNT = tensor_numel(input);
    accum next = COUNT > 0 ? *real_data(input) : 0;
    for (int64_t i = 0; i < COUNT; i++) {
        real_data(output)[i] = (real)gelu_of(next, p.approximate == GELU_TANH);
        next = real_data(input)[tensor_offset(input, input->ndim, i) + 1];  // BUG
        if (i + 1 < COUNT)
            next = real_data(input)[tensor_offset(input, input->ndim, i + 1)];
    }
    return STATUS_OK;
}
