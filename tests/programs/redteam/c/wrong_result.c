// SPDX-License-Identifier: MIT
/* wrong_result - makes one element 1 % too large */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    const int64_t COUNT = tensor_numel(output);
    if (COUNT > 0) real_data(output)[COUNT / 2] *= (real)1.01;
    return STATUS_OK;
}

#include "backward.h"
