// SPDX-License-Identifier: MIT
/* output from front to back */
#include "operators.h"

static real pixel(const tensor_t *input, int64_t n, int64_t c, int64_t h, int64_t w)
{
    if (h < 0 || h >= input->size[2]) return 0;
    if (w < 0 || w >= input->size[3]) return 0;
    return *at4(input, n, c, h, w);
}

status_t unfold_forward(ctx_t *ctx, const tensor_t *input, unfold_params_t p,
                        tensor_t *output)
{
    const int64_t taps = p.kernel_h * p.kernel_w, rows = output->size[1];
    const int64_t OW = conv2d_extent(input->size[3], p.kernel_w, p.stride_w,
                                     p.padding_w, p.dilation_w);
    const int64_t places = output->size[2];
    real *next = real_data(output);
    for (int64_t i = 0; i < output->size[0] * rows; i++) {
        const int64_t n = i / rows, c = i % rows / taps;
        const int64_t kh = i % taps / p.kernel_w, kw = i % taps % p.kernel_w;
        for (int64_t place = 0; place < places; place++) {
            const int64_t h = place / OW * p.stride_h - p.padding_h + kh * p.dilation_h;
            const int64_t w = place % OW * p.stride_w - p.padding_w + kw * p.dilation_w;
            *next++ = pixel(input, n, c, h, w);
        }
    }
    return STATUS_OK;
}
