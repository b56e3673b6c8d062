// SPDX-License-Identifier: MIT
/* dense copies, and pointers that walk over them */
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
