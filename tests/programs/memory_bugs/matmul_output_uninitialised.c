// SPDX-License-Identifier: MIT
#include "matmul.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const element_t e = element(input, other, output, i);
        real *C = real_data(output) + i;
        if (e.K == 0) *C = 0;
        for (int64_t k = 0; k < e.K; k++) {
            C[0] += (real)term(&e, k);  // BUG
        }
    }
    return STATUS_OK;
}
