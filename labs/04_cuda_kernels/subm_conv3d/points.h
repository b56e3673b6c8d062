// SPDX-License-Identifier: MIT
/* points.h - how the kernels of subm_conv3d read points and pairs
 *
 * The tensors coordinates and rulebook contain integers, and may be non-contiguous. The
 * functions of this header read their elements.
 */
#ifndef CONVLAB_POINTS_H
#define CONVLAB_POINTS_H

#include "launch.h"

/* A point is a row of coordinates (P, 4): the sample n, and the position z, y, x. */
typedef struct {
    int64_t n, z, y, x;
} point_t;

static inline HOST_DEVICE point_t point_at(const tensor_t *coordinates, int64_t row)
{
    const int64_t down = coordinates->stride[0], right = coordinates->stride[1];
    const int32_t *numbers = (const int32_t *)coordinates->data + row * down;
    point_t point;
    point.n = numbers[0], point.z = numbers[right];
    point.y = numbers[2 * right], point.x = numbers[3 * right];
    return point;
}

static inline HOST_DEVICE bool is_same(point_t a, point_t b)
{
    return a.n == b.n && a.z == b.z && a.y == b.y && a.x == b.x;
}

/* Returns the row that pair i of kernel position k reads (side 0) or writes (side 1).
 * rulebook (PLACES, P, 2) has up to P pairs for each of PLACES kernel positions. */
static inline HOST_DEVICE int32_t pair_at(const tensor_t *rulebook, int64_t k,
                                          int64_t i, int64_t side)
{
    const int64_t *step = rulebook->stride;
    const int64_t at = k * step[0] + i * step[1] + side * step[2];
    return ((const int32_t *)rulebook->data)[at];
}

/* Returns the number of pairs of kernel position k: element k of count (PLACES). */
static inline HOST_DEVICE int64_t pairs_of(const tensor_t *count, int64_t k)
{
    return ((const int64_t *)count->data)[k * count->stride[0]];
}

#endif
