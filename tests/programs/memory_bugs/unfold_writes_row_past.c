// SPDX-License-Identifier: MIT
#include "operators.h"

/* Row (ic, kh, kw) of output for image n: gathers, 0 where it looks past the edge. */
static void unfold_row(const tensor_t *input, unfold_params_t p, int64_t n, int64_t row,
                       tensor_t *output)
{
    const int64_t IH = input->size[2], IW = input->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OH = conv2d_extent(IH, KH, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t ic = row / (KH * KW), kh = row / KW % KH, kw = row % KW;

    for (int64_t oh = 0; oh < OH; oh++) {
        for (int64_t ow = 0; ow < OW; ow++) {
            const int64_t ih = oh * p.stride_h + kh * p.dilation_h - p.padding_h;
            const int64_t iw = ow * p.stride_w + kw * p.dilation_w - p.padding_w;
            const int inside = ih >= 0 && ih < IH && iw >= 0 && iw < IW;
            const real x =
                inside && ic < input->size[1] ? *at4(input, n, ic, ih, iw) : 0;
            *at3(output, n, row, oh * OW + ow) = x;  // BUG
        }
    }
}

/* output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0 outside */
status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    (void)ctx;
    for (int64_t n = 0; n < output->size[0]; n++) {
        for (int64_t row = 0; row <= output->size[1]; row++) {
            unfold_row(input, p, n, row, output);
        }
    }
    return STATUS_OK;
}
