// SPDX-License-Identifier: MIT
/* taps.h - the offsets of a window's numbers, without a division for each number
 *
 * A tap is the offset of term k = (ic, kh, kw) from a window's first pixel. All windows
 * have the same taps. A block keeps SPAN taps in shared memory, a thread keeps one
 * window. Covers kernels of up to SIDE x SIDE, and offsets of 31 bits.
 *
 *     term k = window.outside & tap.y ? 0 : window.pixel[tap.x]
 */
#ifndef CONVLAB_TAPS_H
#define CONVLAB_TAPS_H

#include "launch.h"

enum { SPAN = 2048 };                     // terms whose taps are in memory at once
enum { SIDE = 15, NOWHERE = 1 << SIDE };  // a bit that no row of a kernel has

/* Returns the tap of term k. x is the offset from a window's first pixel. y has the
 * bits kh and 16 + kw set. For terms from `last` on, y is NOWHERE. */
static __device__ int2 tap_of(const tensor_t *input, const tensor_t *weight,
                              conv2d_params_t p, int k, int last)
{
    const int KH = (int)weight->size[2], KW = (int)weight->size[3];
    const int kw = k % KW, kh = k / KW % KH, ic = k / (KH * KW);
    const int64_t behind = ic * input->stride[1] +
                           kh * p.dilation_h * input->stride[2] +
                           kw * p.dilation_w * input->stride[3];
    return make_int2((int)behind, k < last ? 1 << kh | 1 << (16 + kw) : NOWHERE);
}

typedef struct {
    const real *pixel;  // the first pixel, which may be in the padding
    int outside;        // bits of the rows and columns in the padding
} window_t;

/* Returns window q of group g. If there is no window q, all its pixels are outside. */
static __device__ window_t window_of(const tensor_t *input, int64_t IC,
                                     conv2d_params_t p, const tensor_t *output, int g,
                                     int q)
{
    const int OW = (int)output->size[3], AREA = (int)output->size[2] * OW;
    const int64_t ih = q % AREA / OW * p.stride_h - p.padding_h;
    const int64_t iw = q % OW * p.stride_w - p.padding_w;
    window_t window = {NULL, -1};
    if (q >= output->size[0] * AREA) return window;
    window.pixel = at4(input, q / AREA, g * IC, ih, iw);
    window.outside = NOWHERE;
    for (int i = 0; i < SIDE; i++) {
        const int64_t h = ih + i * p.dilation_h, w = iw + i * p.dilation_w;
        if (h < 0 || h >= input->size[2]) window.outside |= 1 << i;
        if (w < 0 || w >= input->size[3]) window.outside |= 1 << (16 + i);
    }
    return window;
}

#endif
