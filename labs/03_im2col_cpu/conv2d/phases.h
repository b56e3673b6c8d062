// SPDX-License-Identifier: MIT
/* phases.h - sorts the input of a block of windows, so that the windows step by 1
 *
 * With stride 2, a window begins at every second pixel. So this header sorts the padded
 * image into phases: every second row and column. Neighbours in a phase belong to
 * neighbouring windows, so a vector loads these pixels in one instruction.
 *
 *     padded image   a b a b     phases   a a   b b   c c   d d
 *                    c d c d              a a   b b   c c   d d
 *                    a b a b
 *                    c d c d              each ROWS x COLS
 *
 * A slab holds some channels of some images: (C, phases, N, ROWS, COLS). Number filter
 * elements k over (C, KH, KW), and windows q over (N, OH, OW). Then element k of window
 * q is slab[phases_element(b, k) + phases_window(b, q)].
 */
#ifndef CONVLAB_PHASES_H
#define CONVLAB_PHASES_H

#include "operators.h"
#include "sizes.h"
#include "vector.h"

typedef struct {
    conv2d_params_t p;
    int64_t C, N, OH, OW;  // at most: channels, images, rows and columns of windows
    int64_t KH, KW;
    int64_t PH, PW, ROWS, COLS;  // PH x PW phases, each of ROWS x COLS pixels
} phases_t;

/* Returns the sizes of a slab for C channels, N images and OH rows of windows. out and
 * weight are the size arrays of output and weight. */
static inline phases_t phases_of(conv2d_params_t p, const int64_t *out,
                                 const int64_t *weight, int64_t C, int64_t N,
                                 int64_t OH)
{
    phases_t b = {.p = p, .C = C, .N = N, .OH = OH, .OW = out[3]};
    b.KH = weight[2], b.KW = weight[3];
    b.PH = p.dilation_h == 1 ? least(p.stride_h, b.KH) : p.stride_h;
    b.PW = p.dilation_w == 1 ? least(p.stride_w, b.KW) : p.stride_w;
    b.ROWS = b.OH + (b.KH - 1) * p.dilation_h / p.stride_h;
    b.COLS = b.OW + (b.KW - 1) * p.dilation_w / p.stride_w;
    return b;
}

/* Returns the number of elements of a slab with the sizes b. */
static inline int64_t phases_size(const phases_t *b)
{
    return b->C * b->PH * b->PW * b->N * b->ROWS * b->COLS;
}

/* Returns the offset in the slab of element k of the first window. */
static inline int64_t phases_element(const phases_t *b, int64_t k)
{
    const int64_t c = k / (b->KH * b->KW);
    const int64_t h = k / b->KW % b->KH * b->p.dilation_h;
    const int64_t w = k % b->KW * b->p.dilation_w;
    const int64_t phase = h % b->p.stride_h * b->PW + w % b->p.stride_w;
    const int64_t plane = (c * b->PH * b->PW + phase) * b->N;
    return (plane * b->ROWS + h / b->p.stride_h) * b->COLS + w / b->p.stride_w;
}

/* Returns how many slab elements window q begins after the first window. */
static inline int64_t phases_window(const phases_t *b, int64_t q)
{
    const int64_t row = q / b->OW, n = row / b->OH;
    return (n * b->ROWS + row % b->OH) * b->COLS + q % b->OW;
}

/* Copies one phase of channel c of image n: every stride-th row and column, from row h
 * and column w on. h and w may be negative (padding). Outside the image, writes 0. */
static inline void phases_copy(const phases_t *b, const tensor_t *input, int64_t n,
                               int64_t c, int64_t h, int64_t w, real *restrict phase)
{
    const int64_t STEP = b->p.stride_w * input->stride[3];
    const int64_t begin = w < 0 ? parts(-w, b->p.stride_w) : 0;
    const int64_t inside = parts(input->size[3] - w, b->p.stride_w);
    const int64_t count = least(b->COLS, inside) - begin;
    for (int64_t i = 0; i < b->ROWS * b->COLS; i++) phase[i] = 0;
    phase += begin;
    for (int64_t r = 0; r < b->ROWS; r++, h += b->p.stride_h, phase += b->COLS) {
        if (h < 0 || h >= input->size[2] || count <= 0) continue;
        const real *row = at4(input, n, c, h, w + begin * b->p.stride_w);
        for (int64_t i = 0; i < count; i += LANES / 2) {
            __builtin_prefetch(row + input->stride[1] + i * STEP);  // the next channel
        }
        if (STEP == 1) {
            memcpy(phase, row, (size_t)count * sizeof(real));
        } else if (STEP == 2) {
            for (int64_t i = 0; i < count; i++) phase[i] = row[2 * i];
        } else {
            for (int64_t i = 0; i < count; i++) phase[i] = row[i * STEP];
        }
    }
}

/* Fills slab with C channels from c on, N images from n on, windows from row oh on. */
static inline void phases_fill(const phases_t *b, const tensor_t *input, int64_t c,
                               int64_t C, int64_t n, int64_t N, int64_t oh, real *slab)
{
    const int64_t PLANE = b->ROWS * b->COLS;
    const int64_t h0 = oh * b->p.stride_h - b->p.padding_h, w0 = -b->p.padding_w;
    for (int64_t i = 0; i < N; i++) {
        real *to = slab + i * PLANE;
        for (int64_t j = 0; j < C; j++) {
            for (int64_t h = 0; h < b->PH; h++) {
                for (int64_t w = 0; w < b->PW; w++, to += b->N * PLANE) {
                    phases_copy(b, input, n + i, c + j, h0 + h, w0 + w, to);
                }
            }
        }
    }
}

#endif
