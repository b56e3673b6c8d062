// SPDX-License-Identifier: MIT
/* three loops of their own, by strides */
#include "operators.h"

static accum read(const tensor_t *t, int64_t r, int64_t d)
{
    const int32_t last = t->ndim - 1;
    return real_data(t)[tensor_offset(t, last, r) + d * t->stride[last]];
}

static accum saved(const tensor_t *t, int64_t r)
{
    return ((const accum *)t->data)[tensor_offset(t, t->ndim, r)];
}

status_t layer_norm_backward(ctx_t *ctx, const tensor_t *grad_output,
                             const tensor_t *input, const tensor_t *weight,
                             const tensor_t *mean, const tensor_t *rstd,
                             layer_norm_params_t p, tensor_t *grad_input,
                             tensor_t *grad_weight, tensor_t *grad_bias)
{
    const int64_t n = input->size[input->ndim - 1];
    const int64_t rows = tensor_count(input, input->ndim - 1);
    for (int64_t r = 0; grad_input && r < rows; r++) {
        const accum m = saved(mean, r), s = saved(rstd, r);
        accum first = 0, second = 0;
        for (int64_t d = 0; d < n; d++) {
            const accum g = read(grad_output, r, d) * (weight ? *at1(weight, d) : 1);
            first += g;
            second += g * (read(input, r, d) - m) * s;
        }
        first /= (accum)n;
        second /= (accum)n;
        for (int64_t d = 0; d < n; d++) {
            const accum g = read(grad_output, r, d) * (weight ? *at1(weight, d) : 1);
            const accum hat = (read(input, r, d) - m) * s;
            real_data(grad_input)[r * n + d] = (real)(s * (g - first - hat * second));
        }
    }
    for (int64_t d = 0; grad_weight && d < n; d++) {
        accum sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            const accum hat = (read(input, r, d) - saved(mean, r)) * saved(rstd, r);
            sum += read(grad_output, r, d) * hat;
        }
        *at1(grad_weight, d) = (real)sum;
    }
    for (int64_t d = 0; grad_bias && d < n; d++) {
        accum sum = 0;
        for (int64_t r = 0; r < rows; r++) sum += read(grad_output, r, d);
        *at1(grad_bias, d) = (real)sum;
    }
    return STATUS_OK;
}
