// SPDX-License-Identifier: MIT
/* a copy of each image with its border of zeros */
#include "operators.h"

/* A copy of image n with its border, (IC, PH, PW) */
static void pad_image(const tensor_t *input, int64_t n, conv2d_params_t p, real *to)
{
    const int64_t IC = input->size[1], IH = input->size[2], IW = input->size[3];
    const int64_t PH = IH + 2 * p.padding_h, PW = IW + 2 * p.padding_w;
    for (int64_t i = 0; i < IC * PH * PW; i++) to[i] = 0;
    for (int64_t c = 0; c < IC; c++) {
        for (int64_t h = 0; h < IH; h++) {
            for (int64_t w = 0; w < IW; w++) {
                to[(c * PH + h + p.padding_h) * PW + w + p.padding_w] =
                    *at4(input, n, c, h, w);
            }
        }
    }
}

status_t conv2d_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *weight,
                        const tensor_t *bias, conv2d_params_t p, tensor_t *output)
{
    const int64_t PH = input->size[2] + 2 * p.padding_h;
    const int64_t PW = input->size[3] + 2 * p.padding_w;
    const int64_t OC = weight->size[0], IC = weight->size[1];
    const int64_t KH = weight->size[2], KW = weight->size[3];
    const int64_t OH = output->size[2], OW = output->size[3];
    real *padded = ctx_scratch(ctx, (size_t)(input->size[1] * PH * PW) * sizeof(real));
    if (!padded) return STATUS_NO_MEMORY;
    for (int64_t n = 0; n < output->size[0]; n++) {
        pad_image(input, n, p, padded);
        for (int64_t at = 0; at < OC * OH * OW; at++) {
            const int64_t oc = at / (OH * OW), oh = at / OW % OH, ow = at % OW;
            const int64_t first = oc / (OC / p.groups) * IC;
            accum sum = 0;
            for (int64_t k = 0; k < IC * KH * KW; k++) {
                const int64_t ic = k / (KH * KW), kh = k / KW % KH, kw = k % KW;
                const int64_t row = oh * p.stride_h + kh * p.dilation_h;
                const int64_t col = ow * p.stride_w + kw * p.dilation_w;
                sum += padded[((first + ic) * PH + row) * PW + col] *
                       *at4(weight, oc, ic, kh, kw);
            }
            if (bias) sum += *at1(bias, oc);
            *at4(output, n, oc, oh, ow) = (real)sum;
        }
    }
    return STATUS_OK;
}
