// SPDX-License-Identifier: MIT
/* taps.h - the offsets of a window's numbers, without a division for each number
 *
 * Term k = (ic, kh, kw) has the same distance from the first pixel in all windows: its
 * tap. A block keeps the taps of SPAN terms in shared memory; a thread, its window.
 * Covers kernels up to SIDE x SIDE, and distances of 31 bits.
 *
 *     window.outside & tap.y ? 0 : window.pixel[tap.x]
 */
#ifndef CONVLAB_TAPS_H
#define CONVLAB_TAPS_H

#include "launch.h"

enum { SPAN = 2048 };                     // terms whose taps are in memory at once
enum { SIDE = 15, NOWHERE = 1 << SIDE };  // a bit that no row of a kernel has

/* x: the distance of term k from a window's first pixel. y: bits kh and 16 + kw, or
 * NOWHERE from term `last` on. */
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
    const real *pixel;  // the first one, which may be in the padding
    int outside;        // bits as in a tap: rows and columns in the padding
} window_t;

/* Window q of group g. If there is no such window, all of it is outside. */
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
