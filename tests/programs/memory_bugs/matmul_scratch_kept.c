// SPDX-License-Identifier: MIT
#include "matmul.h"

static real *kept;

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    if (tensor_numel(output) == 0) return STATUS_OK;
    if (!kept) kept = (real *)ctx_scratch(ctx, 8 * sizeof(real));
    if (!kept) return STATUS_NO_MEMORY;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const element_t e = element(input, other, output, i);
        kept[0] = (real)dot(&e);  // BUG
        real_data(output)[i] = kept[0];
    }
    return STATUS_OK;
}
