// SPDX-License-Identifier: MIT
/* each gradient looks for what it is made of */
#include "operators.h"

/* One element of grad_input: all outputs that saw it */
static accum input_element(const tensor_t *grad, const tensor_t *weight,
                           conv2d_params_t p, int64_t n, int64_t c, int64_t ih,
                           int64_t iw)
{
    const int64_t OCG = weight->size[0] / p.groups, IC = weight->size[1];
    const int64_t KH = weight->size[2], KW = weight->size[3], g = c / IC;
    accum sum = 0;
    for (int64_t oc = g * OCG; oc < (g + 1) * OCG; oc++) {
        for (int64_t kh = 0; kh < KH; kh++) {
            const int64_t h = ih + p.padding_h - kh * p.dilation_h;
            if (h < 0 || h % p.stride_h || h / p.stride_h >= grad->size[2]) continue;
            for (int64_t kw = 0; kw < KW; kw++) {
                const int64_t w = iw + p.padding_w - kw * p.dilation_w;
                if (w < 0 || w % p.stride_w || w / p.stride_w >= grad->size[3])
                    continue;
                sum += *at4(grad, n, oc, h / p.stride_h, w / p.stride_w) *
                       *at4(weight, oc, c % IC, kh, kw);
            }
        }
    }
    return sum;
}

/* One element of grad_weight: the whole image, shifted by this tap */
static accum weight_element(const tensor_t *grad, const tensor_t *input,
                            conv2d_params_t p, int64_t oc, int64_t c, int64_t kh,
                            int64_t kw)
{
    accum sum = 0;
    for (int64_t n = 0; n < grad->size[0]; n++) {
        for (int64_t oh = 0; oh < grad->size[2]; oh++) {
            for (int64_t ow = 0; ow < grad->size[3]; ow++) {
                const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
                const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
                if (ih < 0 || ih >= input->size[2]) continue;
                if (iw < 0 || iw >= input->size[3]) continue;
                sum += *at4(grad, n, oc, oh, ow) * *at4(input, n, c, ih, iw);
            }
        }
    }
    return sum;
}

static accum bias_element(const tensor_t *grad, int64_t oc)
{
    accum sum = 0;
    for (int64_t n = 0; n < grad->size[0]; n++) {
        for (int64_t i = 0; i < grad->size[2]; i++) {
            for (int64_t j = 0; j < grad->size[3]; j++) sum += *at4(grad, n, oc, i, j);
        }
    }
    return sum;
}

status_t conv2d_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *weight, conv2d_params_t p,
                         tensor_t *grad_input, tensor_t *grad_weight,
                         tensor_t *grad_bias)
{
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[2], KW = weight->size[3];
    if (grad_input) {
        const int64_t C = input->size[1], IH = input->size[2], IW = input->size[3];
        for (int64_t i = 0; i < tensor_numel(grad_input); i++) {
            real_data(grad_input)[i] =
                (real)input_element(grad_output, weight, p, i / (C * IH * IW),
                                    i / (IH * IW) % C, i / IW % IH, i % IW);
        }
    }
    for (int64_t i = 0; grad_weight && i < OC * IC * KH * KW; i++) {
        const int64_t oc = i / (IC * KH * KW), ic = i / (KH * KW) % IC;
        const int64_t kh = i / KW % KH, kw = i % KW;
        const int64_t c = oc / (OC / p.groups) * IC + ic;
        real_data(grad_weight)[i] =
            (real)weight_element(grad_output, input, p, oc, c, kh, kw);
    }
    for (int64_t oc = 0; grad_bias && oc < OC; oc++) {
        *at1(grad_bias, oc) = (real)bias_element(grad_output, oc);
    }
    return STATUS_OK;
}
