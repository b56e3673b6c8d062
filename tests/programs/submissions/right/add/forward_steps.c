// SPDX-License-Identifier: MIT
/* two places carried along like the digits of a counter */
#include "operators.h"

typedef struct {
    int64_t step[TENSOR_MAX_DIMS];
} steps_t;

static steps_t steps_of(const tensor_t *t, const tensor_t *shape)
{
    steps_t s = {{0}};
    const int32_t lead = shape->ndim - t->ndim;
    for (int32_t d = 0; d < t->ndim; d++) {
        s.step[lead + d] = t->size[d] == 1 ? 0 : t->stride[d];
    }
    return s;
}

static int64_t next(const tensor_t *shape, int64_t *index, steps_t s, int64_t at)
{
    for (int32_t d = shape->ndim - 1; d >= 0; d--) {
        at += s.step[d];
        if (++index[d] < shape->size[d]) break;
        at -= s.step[d] * shape->size[d];
        index[d] = 0;
    }
    return at;
}

status_t add_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                     add_params_t p, tensor_t *output)
{
    const steps_t left = steps_of(input, output), right = steps_of(other, output);
    int64_t a[TENSOR_MAX_DIMS] = {0}, b[TENSOR_MAX_DIMS] = {0}, i = 0, j = 0;
    const int64_t count = tensor_numel(output);
    for (int64_t k = 0; k < count; k++) {
        const accum x = real_data(input)[i], y = real_data(other)[j];
        real_data(output)[k] = (real)(x + (accum)p.alpha * y);
        i = next(output, a, left, i);
        j = next(output, b, right, j);
    }
    return STATUS_OK;
}
