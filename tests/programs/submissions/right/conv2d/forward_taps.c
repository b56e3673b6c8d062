// SPDX-License-Identifier: MIT
/* one weight after the other, each added to a whole plane */
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
