// SPDX-License-Identifier: MIT
/* the gradient of the padded image, then its border cut off */
#include "operators.h"

static void plane_of_zeros(real *x, int64_t count)
{
    while (count-- > 0) *x++ = 0;
}

/* The gradient of one padded image, (C, PH, PW) */
static void spread(const tensor_t *grad, const tensor_t *weight, conv2d_params_t p,
                   int64_t n, int64_t PH, int64_t PW, real *to)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    for (int64_t oc = 0; oc < OC; oc++) {
        for (int64_t ic = 0; ic < IC; ic++) {
            real *plane = to + (oc / (OC / p.groups) * IC + ic) * PH * PW;
            for (int64_t t = 0; t < weight->size[2] * weight->size[3]; t++) {
                const int64_t kh = t / weight->size[3], kw = t % weight->size[3];
                const real w = *at4(weight, oc, ic, kh, kw);
                for (int64_t i = 0; i < grad->size[2]; i++) {
                    for (int64_t j = 0; j < grad->size[3]; j++) {
                        const int64_t r = i * p.stride_h + kh * p.dilation_h;
                        const int64_t s = j * p.stride_w + kw * p.dilation_w;
                        plane[r * PW + s] += w * *at4(grad, n, oc, i, j);
                    }
                }
            }
        }
    }
}

/* grad_weight += the part of one image */
static void collect(const tensor_t *grad, const tensor_t *input, conv2d_params_t p,
                    int64_t n, tensor_t *gw)
{
    const int64_t OC = gw->size[0], IC = gw->size[1];
    for (int64_t k = 0; k < tensor_numel(gw); k++) {
        const int64_t kw = k % gw->size[3], kh = k / gw->size[3] % gw->size[2];
        const int64_t ic = k / (gw->size[2] * gw->size[3]) % IC;
        const int64_t oc = k / (gw->size[2] * gw->size[3]) / IC;
        const int64_t c = oc / (OC / p.groups) * IC + ic;
        accum sum = 0;
        for (int64_t i = 0; i < grad->size[2]; i++) {
            for (int64_t j = 0; j < grad->size[3]; j++) {
                const int64_t r = i * p.stride_h + kh * p.dilation_h - p.padding_h;
                const int64_t s = j * p.stride_w + kw * p.dilation_w - p.padding_w;
                const int in =
                    r >= 0 && s >= 0 && r < input->size[2] && s < input->size[3];
                if (in) sum += *at4(grad, n, oc, i, j) * *at4(input, n, c, r, s);
            }
        }
        real_data(gw)[k] += (real)sum;
    }
}

status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t C = input->size[1], IH = input->size[2], IW = input->size[3];
    const int64_t PH = IH + 2 * p.padding_h, PW = IW + 2 * p.padding_w;
    real *padded = ctx_scratch(ctx, (size_t)(C * PH * PW) * sizeof(real));
    if (!padded) return STATUS_NO_MEMORY;
    if (grad_weight) plane_of_zeros(real_data(grad_weight), tensor_numel(grad_weight));
    if (grad_bias) plane_of_zeros(real_data(grad_bias), tensor_numel(grad_bias));
    for (int64_t n = 0; n < input->size[0]; n++) {
        if (grad_weight) collect(grad_output, input, p, n, grad_weight);
        for (int64_t oc = 0; grad_bias && oc < weight->size[0]; oc++) {
            for (int64_t i = 0; i < grad_output->size[2] * grad_output->size[3]; i++) {
                *at1(grad_bias, oc) +=
                    *at4(grad_output, n, oc, i / grad_output->size[3],
                         i % grad_output->size[3]);
            }
        }
        if (!grad_input) continue;
        plane_of_zeros(padded, C * PH * PW);
        spread(grad_output, weight, p, n, PH, PW, padded);
        for (int64_t i = 0; i < C * IH * IW; i++) {
            const int64_t c = i / (IH * IW), h = i / IW % IH, w = i % IW;
            *at4(grad_input, n, c, h, w) =
                padded[(c * PH + h + p.padding_h) * PW + w + p.padding_w];
        }
    }
    return STATUS_OK;
}
