// SPDX-License-Identifier: MIT
/* the scatter into grad_input uses the kernel turned by 180 degrees */
#include "operators.h"

/* Output plane (n, oc) += plane (n, ic) of the input * one weight */
static void add_tap(const tensor_t *input, int64_t n, int64_t ic, real w, int64_t dh,
                    int64_t dw, conv2d_params_t p, tensor_t *output, int64_t oc)
{
    for (int64_t oh = 0; oh < output->size[2]; oh++) {
        const int64_t ih = oh * p.stride_h + dh - p.padding_h;
        if (ih < 0 || ih >= input->size[2]) continue;
        for (int64_t ow = 0; ow < output->size[3]; ow++) {
            const int64_t iw = ow * p.stride_w + dw - p.padding_w;
            if (iw < 0 || iw >= input->size[3]) continue;
            *at4(output, n, oc, oh, ow) += w * *at4(input, n, ic, ih, iw);
        }
    }
}

static void start_plane(tensor_t *output, int64_t n, int64_t oc, real value)
{
    for (int64_t i = 0; i < output->size[2]; i++) {
        for (int64_t j = 0; j < output->size[3]; j++) *at4(output, n, oc, i, j) = value;
    }
}

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t filters = weight->size[0] / p.groups;
    for (int64_t n = 0; n < output->size[0]; n++) {
        for (int64_t oc = 0; oc < output->size[1]; oc++) {
            start_plane(output, n, oc, bias ? *at1(bias, oc) : 0);
            for (int64_t ic = 0; ic < weight->size[1]; ic++) {
                const int64_t from = oc / filters * weight->size[1] + ic;
                for (int64_t kh = 0; kh < weight->size[2]; kh++) {
                    for (int64_t kw = 0; kw < weight->size[3]; kw++) {
                        add_tap(input, n, from, *at4(weight, oc, ic, kh, kw),
                                kh * p.dilation_h, kw * p.dilation_w, p, output, oc);
                    }
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
                const real w = *at4(weight, oc, ic, weight->size[2] - 1 - kh,
                                    weight->size[3] - 1 - kw);
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
