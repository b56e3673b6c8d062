// SPDX-License-Identifier: MIT
/* the place of each element by division */
#include "operators.h"

/* Where t has the element that goes to place i of a tensor of this shape */
static int64_t place(const tensor_t *t, const tensor_t *shape, int64_t i)
{
    int64_t at = 0;
    int32_t e = t->ndim - 1;
    for (int32_t d = shape->ndim - 1; d >= 0 && e >= 0; d--, e--) {
        const int64_t index = i % shape->size[d];
        i /= shape->size[d];
        if (t->size[e] > 1) at += index * t->stride[e];
    }
    return at;
}

status_t add_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                     add_params_t p, tensor_t *output)
{
    const real alpha = (real)p.alpha;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const real a = real_data(input)[place(input, output, i)];
        const real b = real_data(other)[place(other, output, i)];
        real_data(output)[i] = a + alpha * b;
    }
    return STATUS_OK;
}
