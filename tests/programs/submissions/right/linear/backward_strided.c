// SPDX-License-Identifier: MIT
/* three loops of their own, by strides */
#include "operators.h"

status_t linear_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, tensor_t *grad_input,
                         tensor_t *grad_weight, tensor_t *grad_bias)
{
    const int32_t last = input->ndim - 1;
    const int64_t R = tensor_count(input, last);
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t gs = grad_output->stride[last], xs = input->stride[last];
    for (int64_t i = 0; grad_input && i < R * IC; i++) {
        const real *g =
            real_data(grad_output) + tensor_offset(grad_output, last, i / IC);
        accum sum = 0;
        for (int64_t oc = 0; oc < OC; oc++)
            sum += g[oc * gs] * *at2(weight, oc, i % IC);
        real_data(grad_input)[i] = (real)sum;
    }
    for (int64_t oc = 0; grad_weight && oc < OC; oc++) {
        for (int64_t ic = 0; ic < IC; ic++) {
            accum sum = 0;
            for (int64_t r = 0; r < R; r++) {
                const int64_t g = tensor_offset(grad_output, last, r);
                const int64_t x = tensor_offset(input, last, r);
                sum +=
                    real_data(grad_output)[g + oc * gs] * real_data(input)[x + ic * xs];
            }
            *at2(grad_weight, oc, ic) = (real)sum;
        }
    }
    for (int64_t oc = 0; grad_bias && oc < OC; oc++) {
        accum sum = 0;
        for (int64_t r = 0; r < R; r++) {
            sum +=
                real_data(grad_output)[tensor_offset(grad_output, last, r) + oc * gs];
        }
        *at1(grad_bias, oc) = (real)sum;
    }
    return STATUS_OK;
}
