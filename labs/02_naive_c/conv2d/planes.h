// SPDX-License-Identifier: MIT
/* planes.h - one channel of one image, seen as a matrix with strides
 *
 *     plane_of(t, n, c)     t (N, C, H, W): rows and columns of channel c of image n
 *
 * A part of a plane is also a plane, with other data, sizes and strides.
 */
#ifndef CONVLAB_PLANES_H
#define CONVLAB_PLANES_H

#include "operators.h"

/* A plane of a tensor: element (h, w) is data[h*stride[0] + w*stride[1]]. */
typedef struct {
    real *data;
    int64_t size[2], stride[2];
} plane_t;

static inline plane_t plane_of(const tensor_t *t, int64_t n, int64_t channel)
{
    return (plane_t){at4(t, n, channel, 0, 0),
                     {t->size[2], t->size[3]},
                     {t->stride[2], t->stride[3]}};
}

/* Returns the sum of all elements of a plane. */
static inline real sum_of(plane_t plane)
{
    accum sum = 0;
    for (int64_t h = 0; h < plane.size[0]; h++) {
        for (int64_t w = 0; w < plane.size[1]; w++) {
            sum += plane.data[h * plane.stride[0] + w * plane.stride[1]];
        }
    }
    return (real)sum;
}

/* Sets all elements of `gradient` to zero, so that += can then add terms. */
static inline void set_zero(tensor_t *gradient)
{
    if (!gradient) return;  // the caller does not want this gradient
    for (int64_t i = 0; i < tensor_numel(gradient); i++) real_data(gradient)[i] = 0;
}

#endif
