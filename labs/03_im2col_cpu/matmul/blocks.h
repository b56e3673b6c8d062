// SPDX-License-Identifier: MIT
/* blocks.h - a view of a part of a matrix, with any first element and any strides
 *
 *     matrix_of(t, b, i, j)     t (..., M, N), matrix b of the batch:
 *
 *         . . . . . .           element (0, 0) of the part is element (i, j) of t;
 *         . . x x x x           a part does not store its sizes, so each loop
 *         . . x x x x           must know the sizes.
 */
#ifndef CONVLAB_BLOCKS_H
#define CONVLAB_BLOCKS_H

#include "operators.h"
#include "vector.h"

/* Element (i, j) of a matrix_t is data[i * down + j * across]. */
typedef struct {
    real *data;
    int64_t down, across;
} matrix_t;

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the part of matrix b of the batch t that begins at element (i, j). */
static inline matrix_t matrix_of(const tensor_t *t, int64_t b, int64_t i, int64_t j)
{
    const int64_t down = t->stride[t->ndim - 2], across = t->stride[t->ndim - 1];
    real *data = real_data(t) + tensor_offset(t, t->ndim - 2, b);
    return (matrix_t){data + i * down + j * across, down, across};
}

#endif
