// SPDX-License-Identifier: MIT
/* turned.h - flipped filters, for grad_input
 *
 * grad_input is a convolution of grad_output with flipped filters. A flipped filter is
 * rotated by 180 degrees, and input and output channels are exchanged:
 *
 *     a b c        i h g
 *     d e f        f e d        for one input and one output channel
 *     g h i        c b a
 */
#ifndef CONVLAB_TURNED_H
#define CONVLAB_TURNED_H

#include "vector.h"
#include "views.h"

/* Selects T taps along one axis of a filter: tap, tap + STEP, tap + 2 * STEP, ... */
typedef struct {
    int64_t tap, STEP, T;
} taps_t;

/* Returns flipped filters (G*IC, OC, h.T, w.T) of weight (G*OC, IC, KH, KW), with the
 * taps h and w only. If there is no scratch memory, the data of the result is NULL. */
static inline tensor_t turned(ctx_t *ctx, const tensor_t *weight, int64_t G, taps_t h,
                              taps_t w)
{
    const int64_t OC = weight->size[0] / G, IC = weight->size[1], T = h.T * w.T;
    int64_t *taps = (int64_t *)ctx_scratch(ctx, (size_t)T * sizeof(int64_t));
    real *data = (real *)ctx_scratch(ctx, (size_t)(G * IC * OC * T) * sizeof(real));
    if (!taps || !data) return dense(NULL, G * IC, OC, h.T, w.T);
    for (int64_t k = 0; k < T; k++) {
        taps[T - 1 - k] = (h.tap + k / w.T * h.STEP) * weight->stride[2] +
                          (w.tap + k % w.T * w.STEP) * weight->stride[3];
    }
    real *to = data;
    for (int64_t i = 0; i < G * IC; i++) {
        const real *filter = at4(weight, i / IC * OC, i % IC, 0, 0);
        for (int64_t oc = 0; oc < OC; oc++, filter += weight->stride[0], to += T) {
            for (int64_t k = 0; k < T; k++) to[k] = filter[taps[k]];
        }
    }
    return dense(data, G * IC, OC, h.T, w.T);
}

/* Copies weight (OC, IC, AREA), contiguous and not flipped, to panels of WIDTH input
 * channels. Each panel is (AREA, OC, WIDTH). */
static inline void input_panels(const real *weight, int64_t OC, int64_t IC,
                                int64_t AREA, int64_t WIDTH, real *panels)
{
    for (int64_t ic = 0; ic < IC; ic += WIDTH) {
        for (int64_t oc = 0; oc < OC; oc++) {
            vec_transpose_copy(weight + (oc * IC + ic) * AREA, AREA,
                               panels + ic * AREA * OC + oc * WIDTH, OC * WIDTH,
                               IC - ic < WIDTH ? IC - ic : WIDTH, AREA);
        }
    }
}

#endif
