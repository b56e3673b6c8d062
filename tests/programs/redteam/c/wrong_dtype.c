// SPDX-License-Identifier: MIT
/* wrong_dtype - declares matmul_forward with float * for its output */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        float *output)
{
    (void)ctx;
    tensor_t result = *input;  // (..., M, N)
    result.data = output;
    result.size[result.ndim - 1] = other->size[other->ndim - 1];
    product(input, other, &result);
    return STATUS_OK;
}

#include "backward.h"
