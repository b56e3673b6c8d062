// SPDX-License-Identifier: MIT
/* blocks.h - a part of a matrix, wherever it begins and whatever its strides are
 *
 *     matrix_of(t, b, i, j)     t (..., M, N), matrix b of the batch:
 *
 *         . . . . . .           element (0, 0) of the part is element (i, j) of t;
 *         . . x x x x           the part itself has no sizes: who walks through it
 *         . . x x x x           knows how far.
 */
#ifndef CONVLAB_BLOCKS_H
#define CONVLAB_BLOCKS_H

#include "operators.h"
#include "vector.h"

/* Element (i, j) stands at data[i * down + j * across]. */
typedef struct {
    real *data;
    int64_t down, across;
} matrix_t;

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Matrix b of a batch, from its element (i, j) on. */
static inline matrix_t matrix_of(const tensor_t *t, int64_t b, int64_t i, int64_t j)
{
    const int64_t down = t->stride[t->ndim - 2], across = t->stride[t->ndim - 1];
    real *data = real_data(t) + tensor_offset(t, t->ndim - 2, b);
    return (matrix_t){data + i * down + j * across, down, across};
}

#endif
