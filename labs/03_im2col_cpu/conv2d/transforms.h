// SPDX-License-Identifier: MIT
/* transforms.h - both axes of a tile, by a matrix
 *
 * What 10_winograd_4x4 writes out as sums and differences, for a matrix of constants:
 * zeros cost nothing, and a row with a single 1 is a copy. The matrices of forward are
 *
 *     output = AT ((G weight G^T) * (BT input BT^T)) AT^T
 *
 * and grad_weight takes their transposes, since its sums go the other way:
 *
 *     grad_weight = GT (sum over tiles of (A grad_output A^T) * (BT input BT^T)) GT^T
 */
#ifndef CONVLAB_TRANSFORMS_H
#define CONVLAB_TRANSFORMS_H

#include "vector.h"

enum { MOST = 9 };  // rows or columns of a matrix

// clang-format off
/* Six points, as in the README: 0, 1, -1, 2, -2 and infinity */
static const double BT[] = {
    4,  0, -5,  0, 1, 0,
    0, -4, -4,  1, 1, 0,
    0,  4, -4, -1, 1, 0,
    0, -2, -1,  2, 1, 0,
    0,  2, -1, -2, 1, 0,
    0,  4,  0, -5, 0, 1,
};
/* F(4,3) */
static const double A3[] = {
    1,  0, 0,  0,
    1,  1, 1,  1,
    1, -1, 1, -1,
    1,  2, 4,  8,
    1, -2, 4, -8,
    0,  0, 0,  1,
};
static const double GT3[] = {
    6. / 24, -4. / 24, -4. / 24, 1. / 24,  1. / 24, 0,
    0,       -4. / 24,  4. / 24, 2. / 24, -2. / 24, 0,
    0,       -4. / 24, -4. / 24, 4. / 24,  4. / 24, 1,
};
/* F(2,5) */
static const double A5[] = {
    1,  0,
    1,  1,
    1, -1,
    1,  2,
    1, -2,
    0,  1,
};
static const double GT5[] = {
    6. / 24, -4. / 24, -4. / 24,  1. / 24,  1. / 24, 0,
    0,       -4. / 24,  4. / 24,  2. / 24, -2. / 24, 0,
    0,       -4. / 24, -4. / 24,  4. / 24,  4. / 24, 0,
    0,       -4. / 24,  4. / 24,  8. / 24, -8. / 24, 0,
    0,       -4. / 24, -4. / 24, 16. / 24, 16. / 24, 1,
};

/* Three taps at stride 2. Inputs 0, 2, .. 8 meet taps 0 and 2, and go through the five
 * points of F(4,2): 0, 1, -1, 2 and infinity. Inputs 1, 3, .. 7 meet tap 1: they are
 * copied, each to a point of its own, and so is the tap. */
static const double STRIDED_BT[] = {
    2, 0, -1, 0, -2, 0,  1, 0, 0,
    0, 0, -2, 0, -1, 0,  1, 0, 0,
    0, 0,  2, 0, -3, 0,  1, 0, 0,
    0, 0, -1, 0,  0, 0,  1, 0, 0,
    0, 0,  2, 0, -1, 0, -2, 0, 1,
    0, 1,  0, 0,  0, 0,  0, 0, 0,
    0, 0,  0, 1,  0, 0,  0, 0, 0,
    0, 0,  0, 0,  0, 1,  0, 0, 0,
    0, 0,  0, 0,  0, 0,  0, 1, 0,
};
/* the points 5 to 8 have one number of a filter in common: 6 rows are enough */
static const double STRIDED_G[] = {
     3. / 6, 0,  0,
    -3. / 6, 0, -3. / 6,
    -1. / 6, 0,  1. / 6,
     1. / 6, 0,  2. / 6,
     0,      0,  1,
     0,      1,  0,
};
static const double STRIDED_GT[] = {
    3. / 6, -3. / 6, -1. / 6, 1. / 6, 0, 0,
    0,       0,       0,      0,      0, 1,
    0,      -3. / 6,  1. / 6, 2. / 6, 1, 0,
};
static const double STRIDED_AT[] = {
    1, 1,  1, 1, 0,  1, 0, 0, 0,
    0, 1, -1, 2, 0,  0, 1, 0, 0,
    0, 1,  1, 4, 0,  0, 0, 1, 0,
    0, 1, -1, 8, 1,  0, 0, 0, 1,
};
static const double STRIDED_A[] = {
    1,  0, 0,  0,
    1,  1, 1,  1,
    1, -1, 1, -1,
    1,  2, 4,  8,
    0,  0, 0,  1,
    1,  0, 0,  0,
    0,  1, 0,  0,
    0,  0, 1,  0,
    0,  0, 0,  1,
};
/* The same for grad_input, 8 pixels from 5 of grad_output: pixels 1, 3, .. 7 meet two
 * taps, and 0, 2, .. 6 one */
static const double SPREAD_BT[] = {
    2, -1, -2,  1, 0,
    0, -2, -1,  1, 0,
    0,  2, -3,  1, 0,
    0, -1,  0,  1, 0,
    0,  2, -1, -2, 1,
    1,  0,  0,  0, 0,
    0,  1,  0,  0, 0,
    0,  0,  1,  0, 0,
    0,  0,  0,  1, 0,
};
static const double SPREAD_AT[] = {
    0, 0,  0, 0, 0,  1, 0, 0, 0,
    1, 1,  1, 1, 0,  0, 0, 0, 0,
    0, 0,  0, 0, 0,  0, 1, 0, 0,
    0, 1, -1, 2, 0,  0, 0, 0, 0,
    0, 0,  0, 0, 0,  0, 0, 1, 0,
    0, 1,  1, 4, 0,  0, 0, 0, 0,
    0, 0,  0, 0, 0,  0, 0, 0, 1,
    0, 1, -1, 8, 1,  0, 0, 0, 0,
};
// clang-format on

/* row (C) of a matrix times x (C) in each lane. Zeros in row are left out: a product
 * with 0 is no 0 if x is infinite. */
EXPAND vec dot(const double *row, int C, const vec *x)
{
    vec sum = {0};
    UNROLL
    for (int c = 0; c < C; c++)
        if (row[c] != 0) sum += (real)row[c] * x[c];
    return sum;
}

/* to (R, R) = m (R, C) from (C, C) m^T, of LANES channels at once: row r, column c is a
 * vector */
EXPAND void transform(const double *m, int R, int C, const real *from, int64_t from_row,
                      int64_t from_col, real *to, int64_t to_row, int64_t to_col)
{
    vec x[MOST], half[MOST][MOST];
    UNROLL
    for (int c = 0; c < C; c++) {
        UNROLL
        for (int r = 0; r < C; r++)
            x[r] = vec_keep(vec_load(from + r * from_row + c * from_col));
        UNROLL
        for (int r = 0; r < R; r++) half[r][c] = dot(m + r * C, C, x);
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int c = 0; c < R; c++)
            vec_store(to + r * to_row + c * to_col, dot(m + c * C, C, half[r]));
    }
}

#endif
