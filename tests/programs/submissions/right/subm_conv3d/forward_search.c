// SPDX-License-Identifier: MIT
/* each point looks at all others, for each place of the kernel */
#include "operators.h"

static int64_t number(const tensor_t *t, int64_t row, int64_t column)
{
    const int32_t *data = t->data;
    return data[row * t->stride[0] + column * t->stride[1]];
}

static int64_t row_of(const tensor_t *t, int64_t n, int64_t z, int64_t y, int64_t x)
{
    for (int64_t row = 0; row < t->size[0]; row++) {
        if (number(t, row, 0) != n) continue;
        if (number(t, row, 1) != z || number(t, row, 2) != y) continue;
        if (number(t, row, 3) == x) return row;
    }
    return -1;
}

status_t subm_conv3d_forward(ctx_t *ctx, const tensor_t *features,
                             const tensor_t *coordinates, const tensor_t *weight,
                             const tensor_t *bias, subm_conv3d_params_t p,
                             tensor_t *output, tensor_t *rulebook, tensor_t *count)
{
    const int64_t P = features->size[0], OC = weight->size[0], IC = weight->size[1];
    const int64_t KD = weight->size[2], KH = weight->size[3], KW = weight->size[4];
    for (int64_t i = 0; i < P * OC; i++) {
        real_data(output)[i] = bias ? *at1(bias, i % OC) : 0;
    }
    for (int64_t k = 0; k < KD * KH * KW; k++) {
        const int64_t kd = k / (KH * KW), kh = k / KW % KH, kw = k % KW;
        int32_t *pair = rulebook ? (int32_t *)rulebook->data + k * P * 2 : NULL;
        int64_t pairs = 0;
        for (int64_t own = 0; own < P; own++) {
            const int64_t n = number(coordinates, own, 0);
            const int64_t z =
                number(coordinates, own, 1) + (kd - KD / 2) * p.dilation_d;
            const int64_t y =
                number(coordinates, own, 2) + (kh - KH / 2) * p.dilation_h;
            const int64_t x =
                number(coordinates, own, 3) + (kw - KW / 2) * p.dilation_w;
            int64_t other = row_of(coordinates, n, z, y, x);
            if (other < 0) continue;
            for (int64_t oc = 0; oc < OC; oc++) {
                accum sum = 0;
                for (int64_t ic = 0; ic < IC; ic++) {
                    sum += *at5(weight, oc, ic, kd, kh, kw) * *at2(features, other, ic);
                }
                *at2(output, own, oc) += sum;
            }
            if (pair)
                pair[2 * pairs] = (int32_t)other, pair[2 * pairs + 1] = (int32_t)own;
            pairs++;
        }
        if (count) ((int64_t *)count->data)[k] = pairs;
    }
    return STATUS_OK;
}
