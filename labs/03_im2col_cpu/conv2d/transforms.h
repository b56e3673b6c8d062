// SPDX-License-Identifier: MIT
/* transforms.h - transforms both axes of a tile by a matrix
 *
 * 10_winograd_4x4 writes its transforms as sums. A matrix of constants replaces the
 * sums: zeros cost nothing, and a row with a single 1 is a copy. Forward computes
 *
 *     output = AT ((G weight G^T) * (BT input BT^T)) AT^T
 *
 * grad_weight uses the transposed matrices, because backward exchanges sums and terms:
 *
 *     grad_weight = GT (sum over tiles of (A grad_output A^T) * (BT input BT^T)) GT^T
 */
#ifndef CONVLAB_TRANSFORMS_H
#define CONVLAB_TRANSFORMS_H

#include "vector.h"

enum { MOST = 9 };  // a matrix has at most MOST rows or columns

// clang-format off
/* BT transforms 6 inputs to the six points 0, 1, -1, 2, -2 and infinity. */
static const double BT[] = {
    4,  0, -5,  0, 1, 0,
    0, -4, -4,  1, 1, 0,
    0,  4, -4, -1, 1, 0,
    0, -2, -1,  2, 1, 0,
    0,  2, -1, -2, 1, 0,
    0,  4,  0, -5, 0, 1,
};
/* F(4,3), for 3 taps: A3 transforms 4 gradients, GT3 turns 6 sums into 3 taps. */
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
/* F(2,5), for 5 taps: A5 transforms 2 gradients, GT5 turns 6 sums into 5 taps. */
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

/* Three taps at stride 2. Taps 0 and 2 are multiplied by inputs 0, 2, .. 8. They use
 * the five points of F(4,2): 0, 1, -1, 2 and infinity. Tap 1 is multiplied by inputs 1,
 * 3, .. 7. Each of these inputs, and tap 1, is copied to its own point. */
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
/* points 5 to 8 use the same number of a filter, so 6 rows are enough */
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
/* For grad_input at stride 2: 8 pixels from 5 pixels of grad_output. Pixels 1, 3, .. 7
 * use two taps, and the pixels 0, 2, .. 6 use one tap. */
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

/* Returns the dot product of row (C) and x (C), in each lane. Skips the zeros of row,
 * because 0 times infinity is not 0. */
EXPAND vec dot(const double *row, int C, const vec *x)
{
    vec sum = {0};
    UNROLL
    for (int c = 0; c < C; c++)
        if (row[c] != 0) sum += (real)row[c] * x[c];
    return sum;
}

/* Computes to (R, R) = m (R, C) @ from (C, C) @ m^T for LANES channels at once: each
 * element of `from` and `to` is a vector of LANES channels. */
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
