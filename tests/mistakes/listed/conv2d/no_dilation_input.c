// SPDX-License-Identifier: MIT
/* grad_input ignores the dilation */
#include "operators.h"

typedef struct {
    int64_t ic, ih, iw, kh, kw;
} shape_t;

static accum one_pixel(const real *x, const real *w, shape_t s, conv2d_params_t p,
                       int64_t oh, int64_t ow)
{
    accum total = 0;
    const int64_t top = oh * p.stride_h - p.padding_h;
    const int64_t left = ow * p.stride_w - p.padding_w;
    for (int64_t c = 0; c < s.ic; c++) {
        const real *plane = x + c * s.ih * s.iw;
        const real *taps = w + c * s.kh * s.kw;
        for (int64_t i = 0; i < s.kh; i++) {
            for (int64_t j = 0; j < s.kw; j++) {
                int64_t r = top + i * p.dilation_h;
                int64_t q = left + j * p.dilation_w;
                if (r >= 0 && r < s.ih && q >= 0 && q < s.iw)
                    total += plane[r * s.iw + q] * taps[i * s.kw + j];
            }
        }
    }
    return total;
}

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    if (tensor_numel(input) == 0) return STATUS_OK;
    const real *x = tensor_contiguous(ctx, input);
    const real *w = tensor_contiguous(ctx, weight);
    if (!x || !w) return STATUS_NO_MEMORY;
    const shape_t s = {weight->size[1], input->size[2], input->size[3], weight->size[2],
                       weight->size[3]};
    const int64_t C = input->size[1], OC = output->size[1];
    const int64_t OH = output->size[2], OW = output->size[3];
    const int64_t per_group = OC / p.groups;
    real *y = real_data(output);
    for (int64_t n = 0; n < input->size[0]; n++) {
        for (int64_t f = 0; f < OC; f++) {
            const int64_t group = f / per_group;
            const real *image = x + (n * C + group * s.ic) * s.ih * s.iw;
            const real *filter = w + f * s.ic * s.kh * s.kw;
            for (int64_t i = 0; i < OH; i++) {
                for (int64_t j = 0; j < OW; j++) {
                    accum v = one_pixel(image, filter, s, p, i, j);
                    if (bias) v += *at1(bias, f);
                    y[((n * OC + f) * OH + i) * OW + j] = (real)v;
                }
            }
        }
    }
    return STATUS_OK;
}

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
                        const int64_t r = i * p.stride_h + kh;
                        const int64_t s = j * p.stride_w + kw;
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
