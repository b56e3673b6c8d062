// SPDX-License-Identifier: MIT
/* points.h - how the rungs of subm_conv3d read points and filters
 *
 * `coordinates` holds integers and may be non-contiguous. `weight` has five axes. These
 * functions find points in `coordinates`, and matrices in `weight`.
 */
#ifndef CONVLAB_POINTS_H
#define CONVLAB_POINTS_H

#include "operators.h"

/* A row of coordinates (P, 4): the sample n, then the position z, y, x. */
typedef struct {
    int64_t n, z, y, x;
} point_t;

static inline point_t point_at(const tensor_t *coordinates, int64_t row)
{
    const int64_t down = coordinates->stride[0], right = coordinates->stride[1];
    const int32_t *numbers = (const int32_t *)coordinates->data + row * down;
    return (point_t){numbers[0], numbers[right], numbers[2 * right],
                     numbers[3 * right]};
}

/* Returns a view (OC, IC) of weight, or of grad_weight, at position (kd, kh, kw). */
static inline tensor_t matrix_at(const tensor_t *weight, int64_t kd, int64_t kh,
                                 int64_t kw)
{
    return (tensor_t){.data = at5(weight, 0, 0, kd, kh, kw),
                      .size = {weight->size[0], weight->size[1]},
                      .stride = {weight->stride[0], weight->stride[1]}};
}

#endif
