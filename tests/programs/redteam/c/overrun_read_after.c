// SPDX-License-Identifier: MIT
/* overrun_read_after - reads one row past the end of input and mixes it in */
#include "frame.h"

/* Elements from data to just after the last one that the tensor reaches. */
static int64_t reach(const tensor_t *t)
{
    int64_t last = 0;
    for (int32_t d = 0; d < t->ndim; d++) last += (t->size[d] - 1) * t->stride[d];
    return last + 1;
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    product(input, other, output);
    if (tensor_numel(input) == 0) return STATUS_OK;
    const real *outside = real_data(input) + reach(input);  // (K)
    accum sum = 0;
    for (int64_t k = 0; k < columns(input); k++) sum += outside[k];
    add_to_all(output, (real)sum);
    return STATUS_OK;
}

#include "backward.h"
