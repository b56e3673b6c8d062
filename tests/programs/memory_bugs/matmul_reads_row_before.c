// SPDX-License-Identifier: MIT
#include "matmul.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const element_t e = element(input, other, output, i);
        const int64_t m = e.m;
        real_data(output)[i] = (real)dot(&e);
        if (e.K == 0) continue;
        const real above = e.A[(m - 1) * input->stride[input->ndim - 2]];  // BUG
        if (above > (real)1e30) real_data(output)[i] = 0;
    }
    return STATUS_OK;
}
