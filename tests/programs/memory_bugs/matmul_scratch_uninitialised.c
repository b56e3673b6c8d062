// SPDX-License-Identifier: MIT
#include "matmul.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    accum *sums = (accum *)ctx_scratch(ctx, (size_t)COUNT * sizeof(accum));
    if (!sums) return STATUS_NO_MEMORY;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const element_t e = element(input, other, output, i);
        for (int64_t k = 0; k < e.K; k++) {
            sums[i] += term(&e, k);  // BUG
        }
        real_data(output)[i] = (real)sums[i];
        sums[i] = 0;
    }
    return STATUS_OK;
}
