// SPDX-License-Identifier: MIT
/* points.h - how the kernels of subm_conv3d read points and pairs
 *
 * coordinates and rulebook hold integers and may be non-contiguous. These functions
 * find their numbers.
 */
#ifndef CONVLAB_POINTS_H
#define CONVLAB_POINTS_H

#include "launch.h"

/* A row of coordinates (P, 4): the sample n, then the position z, y, x. */
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

/* Pair i of kernel position k of a rulebook (PLACES, P, 2): the row that is read (side
 * 0) or written (side 1). At one position, no row is read or written twice. */
static inline HOST_DEVICE int32_t pair_at(const tensor_t *rulebook, int64_t k,
                                          int64_t i, int64_t side)
{
    const int64_t *step = rulebook->stride;
    const int64_t at = k * step[0] + i * step[1] + side * step[2];
    return ((const int32_t *)rulebook->data)[at];
}

/* The number of pairs of kernel position k, from count (PLACES). */
static inline HOST_DEVICE int64_t pairs_of(const tensor_t *count, int64_t k)
{
    return ((const int64_t *)count->data)[k * count->stride[0]];
}

#endif
