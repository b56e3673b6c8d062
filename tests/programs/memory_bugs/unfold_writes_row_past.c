// SPDX-License-Identifier: MIT
#include "operators.h"

/* output[n, (ic*KH + kh)*KW + kw, oh*OW + ow] = input[n,ic,ih,iw], or 0 outside */
status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    (void)ctx;
    const int64_t ROWS = output->size[1], COLUMNS = output->size[2];
    const int64_t IC = input->size[1], IH = input->size[2], IW = input->size[3];
    const int64_t KH = p.kernel_h, KW = p.kernel_w;
    const int64_t OW = conv2d_extent(IW, KW, p.stride_w, p.padding_w, p.dilation_w);
    for (int64_t i = 0; i < input->size[0] * (ROWS + 1) * COLUMNS; i++) {
        const int64_t n = i / ((ROWS + 1) * COLUMNS), row = i / COLUMNS % (ROWS + 1);
        const int64_t ic = row / (KH * KW), oh = i % COLUMNS / OW,
                      ow = i % COLUMNS % OW;
        const int64_t kh = row / KW % KH * p.dilation_h, kw = row % KW * p.dilation_w;
        const int64_t ih = oh * p.stride_h + kh - p.padding_h;
        const int64_t iw = ow * p.stride_w + kw - p.padding_w;
        const int inside = ih >= 0 && ih < IH && iw >= 0 && iw < IW && ic < IC;
        const real x = inside ? *at4(input, n, ic, ih, iw) : 0;
        *at3(output, n, row, i % COLUMNS) = x;  // BUG
    }
    return STATUS_OK;
}
