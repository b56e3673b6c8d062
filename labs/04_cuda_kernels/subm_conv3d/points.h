// SPDX-License-Identifier: MIT
/* points.h - how the kernels of subm_conv3d read points and pairs
 *
 * coordinates and rulebook hold integers and may have gaps: here is where their numbers
 * lie, and nothing else.
 */
#ifndef CONVLAB_POINTS_H
#define CONVLAB_POINTS_H

#include "launch.h"

/* A row of coordinates (P, 4): the sample, then the place. */
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

/* Pair i of place k of a rulebook (PLACES, P, 2): the row that is read (side 0), or the
 * row that is written (side 1). Within a place no row is read or written twice. */
static inline HOST_DEVICE int32_t pair_at(const tensor_t *rulebook, int64_t k,
                                          int64_t i, int64_t side)
{
    const int64_t *step = rulebook->stride;
    const int64_t at = k * step[0] + i * step[1] + side * step[2];
    return ((const int32_t *)rulebook->data)[at];
}

/* How many pairs place k has: count (PLACES). */
static inline HOST_DEVICE int64_t pairs_of(const tensor_t *count, int64_t k)
{
    return ((const int64_t *)count->data)[k * count->stride[0]];
}

#endif
