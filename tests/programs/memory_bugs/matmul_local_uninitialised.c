// SPDX-License-Identifier: MIT
#include "matmul.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const element_t e = element(input, other, output, i);
        accum sum;
        for (int64_t k = 0; k < e.K; k++) {
            sum += term(&e, k);  // BUG
        }
        real_data(output)[i] = (real)sum;
    }
    return STATUS_OK;
}
