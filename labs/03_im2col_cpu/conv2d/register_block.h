// SPDX-License-Identifier: MIT
/* register_block.h - a matrix product for the planes of Winograd's algorithm
 *
 * The matrix `right` is a packed panel as in matmul/05_packed. Columns of right and of
 * sums are channels:
 *
 *     left (ROWS, K)     right (K, C)        sums (ROWS, C)
 *                        . . . . . . . .
 *     . . . .       @    . . . . . . . .     . . . . . . . .
 *     . . . .            . . . . . . . .  =  . . . . . . . .    rows NR apart
 *                        . . . . . . . .
 *
 * In a handout, register_block adds to one row of sums after the other. This is right,
 * but slow. A register block as in matmul/04_register_block is faster. To use your own,
 * put this line at the top of your file, above the includes. Then define register_block
 * below the includes.
 *
 *     #define OWN_REGISTER_BLOCK
 */
#ifndef CONVLAB_REGISTER_BLOCK_H
#define CONVLAB_REGISTER_BLOCK_H

#include "vector.h"

// MR rows of NV vectors of sums: three quarters of the registers
enum { MR = CHANNEL_ROWS, NV = CHANNEL_VECTORS, NR = NV * LANES };

/* A matrix, or its transpose. Element (m, k) is data[m * down + k * across]. */
typedef struct {
    const real *data;
    int64_t down, across;
} left_t;

/* Computes sums = left @ right, or += if `add`, for ROWS rows of VECS vectors. It may
 * also compute the vectors from VECS to NV of each row. */
EXPAND void register_block(int ROWS, int VECS, int64_t K, left_t left,
                           const real *right, int add, real *sums);

#ifndef OWN_REGISTER_BLOCK
EXPAND void register_block(int ROWS, int VECS, int64_t K, left_t left,
                           const real *right, int add, real *sums)
{
    // BEGIN SOLUTION
    vec sum[MR][NV], line[NV];  // line: one row of right
    UNROLL
    for (int m = 0; m < ROWS; m++)
        for (int v = 0; v < VECS; v++) sum[m][v] = (vec){0};
    for (int64_t k = 0; k < K; k++, right += NR) {
        UNROLL
        for (int v = 0; v < VECS; v++) line[v] = vec_keep(vec_load(right + v * LANES));
        UNROLL
        for (int m = 0; m < ROWS; m++)
            for (int v = 0; v < VECS; v++)
                sum[m][v] += left.data[m * left.down + k * left.across] * line[v];
    }
    UNROLL
    for (int m = 0; m < ROWS; m++)
        for (int v = 0; v < VECS; v++) {
            real *to = sums + m * NR + v * LANES;
            vec_store(to, add ? vec_load(to) + sum[m][v] : sum[m][v]);
        }
    // END SOLUTION
    // STARTER (void)VECS;
    // STARTER for (int m = 0; m < ROWS; m++) {
    // STARTER     const real *factors = left.data + m * left.down;
    // STARTER     real *restrict row = sums + m * NR;
    // STARTER     if (!add) memset(row, 0, NR * sizeof(real));
    // STARTER     for (int64_t k = 0; k < K; k++) {
    // STARTER         const real factor = factors[k * left.across];
    // STARTER         const real *line = right + k * NR;
    // STARTER         for (int c = 0; c < NR; c++) row[c] += factor * line[c];
    // STARTER     }
    // STARTER }
}
#endif

/* Computes sums = left @ right for any number of ROWS: MR rows at a time, then 4, 2, 1.
 * With few rows there are few sums, so each sum waits for its last multiply-add.
 * A single last row always uses NV vectors, even if VECS is less. For some processors
 * gcc fuses no multiply-adds in a loop with one sum. Then the last digits of this row
 * would depend on how threads divide the rows. */
EXPAND void panel_rows(int VECS, int64_t ROWS, int64_t K, left_t left,
                       const real *right, int add, real *sums)
{
    for (int64_t m = 0, rows; m < ROWS; m += rows, sums += rows * NR) {
        const left_t block = {left.data + m * left.down, left.down, left.across};
        const int64_t REST = ROWS - m;
        rows = REST < 2 ? 1 : REST < 4 ? 2 : REST < MR ? 4 : MR;
        if (rows == MR) register_block(MR, VECS, K, block, right, add, sums);
        if (rows == 4) register_block(4, VECS, K, block, right, add, sums);
        if (rows == 2) register_block(2, VECS, K, block, right, add, sums);
        if (rows == 1) register_block(1, NV, K, block, right, add, sums);
    }
}

/* Computes sums = left @ right for C <= NR columns: rows of NV, NV / 2 or 1 vectors. */
EXPAND void panel_product(int64_t ROWS, int64_t C, int64_t K, left_t left,
                          const real *right, int add, real *sums)
{
    if (C > NR / 2)
        panel_rows(NV, ROWS, K, left, right, add, sums);
    else if (C > LANES)
        panel_rows(NV / 2, ROWS, K, left, right, add, sums);
    else
        panel_rows(1, ROWS, K, left, right, add, sums);
}

#endif
