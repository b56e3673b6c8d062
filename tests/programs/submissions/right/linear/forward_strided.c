// SPDX-License-Identifier: MIT
/* one row after the other by its strides */
#include "operators.h"

status_t linear_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, tensor_t *output)
{
    const int32_t last = input->ndim - 1;
    const int64_t R = tensor_count(input, last);
    const int64_t OC = weight->size[0], IC = weight->size[1];
    for (int64_t r = 0; r < R; r++) {
        const int64_t start = tensor_offset(input, last, r);
        for (int64_t oc = 0; oc < OC; oc++) {
            accum sum = 0;
            for (int64_t ic = 0; ic < IC; ic++) {
                sum += real_data(input)[start + ic * input->stride[last]] *
                       *at2(weight, oc, ic);
            }
            if (bias) sum += *at1(bias, oc);
            real_data(output)[r * OC + oc] = (real)sum;
        }
    }
    return STATUS_OK;
}
