// SPDX-License-Identifier: MIT
/* clobber_tensor - computes rightly, then overwrites the tensor structs */
#include "frame.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    tensor_t *const victims[] = {output, (tensor_t *)input, (tensor_t *)other};
    for (int v = 0; v < 3; v++) {
        victims[v]->data = NULL;
        victims[v]->ndim = TENSOR_MAX_DIMS;
        for (int d = 0; d < TENSOR_MAX_DIMS; d++) {
            victims[v]->size[d] = INT64_MAX;
            victims[v]->stride[d] = -1;
        }
    }
    return STATUS_OK;
}

#include "backward.h"
