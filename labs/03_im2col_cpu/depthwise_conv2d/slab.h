// SPDX-License-Identifier: MIT
/* slab.h - sorts the columns of a padded plane, so that windows step by 1
 *
 * With a horizontal stride of 2, a window begins at every second column. A slab stores
 * columns that are a stride apart next to each other. So neighbours in a row belong to
 * neighbouring windows, and a vector loads these pixels in one instruction.
 *
 *     a row, stride 2    a b a b a b  ->  a a a b b b
 *
 * The function merge is the inverse: it puts sorted columns back into their order.
 */
#ifndef CONVLAB_SLAB_H
#define CONVLAB_SLAB_H

#include "operators.h"
#include "vector.h"

/* The sizes of a slab. PITCH is a multiple of the stride. Set slabs to 0 before pad. */
typedef struct {
    int64_t IH, IW, PITCH, SIZE;  // input plane; numbers per row; numbers in all
    depthwise_conv2d_params_t p;
} slab_t;

/* Returns where a slab row stores column x of the padded plane. x + stride is next. */
static inline int64_t column(const slab_t *s, int64_t x)
{
    const int64_t S = s->p.stride_w;
    return x % S * (s->PITCH / S) + x / S;
}

/* Returns the sizes of a slab for a plane of input with `below` rows of zeros below. */
static inline slab_t slab_of(const tensor_t *input, depthwise_conv2d_params_t p,
                             int64_t below)
{
    const int64_t S = p.stride_w, COLS = input->size[3] + 2 * p.padding_w;
    slab_t s = {.IH = input->size[2], .IW = input->size[3], .p = p};
    s.PITCH = (COLS + S - 1) / S * S;
    s.SIZE = (s.IH + 2 * p.padding_h + below) * s.PITCH + LANES;  // the last vector
    return s;
}

/* Returns the offset in the slab at which the first window reads filter element k. */
static inline int64_t element_at(const slab_t *s, int64_t k, int64_t KW)
{
    return k / KW * s->p.dilation_h * s->PITCH + column(s, k % KW * s->p.dilation_w);
}

/* Copies a plane (IH, IW) of input into a slab, whose padding stays as it is. */
static inline void pad(const slab_t *s, const real *restrict plane, real *slab)
{
    const int64_t S = s->p.stride_w;
    for (int64_t first = 0; first < S; first++) {
        const int64_t COUNT = (s->IW - first + S - 1) / S;
        const real *from = plane + first;
        real *restrict to = slab + s->p.padding_h * s->PITCH;
        to += column(s, s->p.padding_w + first);
        for (int64_t ih = 0; ih < s->IH; ih++, from += s->IW, to += s->PITCH)
            for (int64_t i = 0; i < COUNT; i++)  // becomes two vector loops
                to[i] = S == 1 ? from[i] : S == 2 ? from[2 * i] : from[i * S];
    }
}

/* Merges S parts, PART numbers apart, to row (IW): one column of each part in turn. */
static inline void merge(const real *restrict parts, int64_t PART, int64_t S,
                         int64_t IW, real *restrict row)
{
    const int64_t PAIRS = S == 2 ? IW / 2 : 0;  // pairs of columns: vectorised
    for (int64_t i = 0; i < PAIRS; i++)
        row[2 * i] = parts[i], row[2 * i + 1] = parts[PART + i];
    for (int64_t iw = 2 * PAIRS; iw < IW; iw++) row[iw] = parts[iw % S * PART + iw / S];
}

#endif
