// SPDX-License-Identifier: MIT
/* tensor.h - what mma.sync and ldmatrix of ptx.h do, with PTX's places for each element
 *
 * Lane l of a warp is number l % 4 of group l / 4. The products of two half, bfloat16
 * or TF32 numbers are exact in a float. cusim adds the products to a float accumulator
 * one after another, in rising order of k. A GPU's order is not documented, so the last
 * bits of the results may differ.
 */
#ifndef CUSIM_TENSOR_H
#define CUSIM_TENSOR_H

#include "core.h"
#include "lane.h"
#include "marks.h"
#include "rounding.h"
#include "word.h"

namespace cusim
{

/* Computes d += a * b for the matrices of a warp. */
template <class Number, class Sum, int M, int N, int K>
CUSIM_QUIET inline void multiply(const Number (&a)[M][K], const Number (&b)[K][N],
                                 Sum (&d)[M][N])
{
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            for (int n = 0; n < N; n++) d[m][n] += a[m][k] * b[k][n];
}

CUSIM_QUIET inline void need_whole_warp(const char *sentence, Where where)
{
    if (position().warp_lanes != 0xffffffffu) trap(sentence, where);
}

struct MmaRegisters {
    float *d;
    const uint32_t *a, *b;
    const float *c;
};

/* Returns row and column of accumulator register i: row g or g + 8, two columns. */
template <int K>
CUSIM_QUIET inline void finish_mma(void *const lane[32], const float (&a)[16][K],
                                   const float (&b)[K][8])
{
    float d[16][8];
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++)
            d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = ((MmaRegisters *)lane[l])->c[i];
    multiply(a, b, d);
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++)
            ((MmaRegisters *)lane[l])->d[i] = d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
}

/* Computes mma m16n8k16. A register holds two 16-bit numbers: in a neighbouring
 * columns, in b neighbouring rows. The lower half has the smaller index. */
template <class Format>
CUSIM_QUIET inline void finish_m16n8k16(void *const lane[32], unsigned)
{
    float a[16][16], b[16][8];
    for (int l = 0; l < 32; l++) {
        const MmaRegisters &mine = *(const MmaRegisters *)lane[l];
        const int group = l / 4, pair = l % 4 * 2;
        for (int i = 0; i < 8; i++) {
            const uint16_t bits = uint16_t(mine.a[i / 2] >> i % 2 * 16);
            a[group + i / 2 % 2 * 8][pair + i % 2 + i / 4 * 8] = Format::decode(bits);
        }
        for (int i = 0; i < 4; i++) {
            const uint16_t bits = uint16_t(mine.b[i / 2] >> i % 2 * 16);
            b[pair + i % 2 + i / 2 * 8][group] = Format::decode(bits);
        }
    }
    finish_mma<16>(lane, a, b);
}

/* Computes mma m16n8k8. A register holds one TF32 number. */
CUSIM_QUIET inline void finish_m16n8k8(void *const lane[32], unsigned)
{
    float a[16][8], b[8][8];
    for (int l = 0; l < 32; l++) {
        const MmaRegisters &mine = *(const MmaRegisters *)lane[l];
        const int group = l / 4, number = l % 4;
        for (int i = 0; i < 4; i++)
            a[group + i % 2 * 8][number + i / 2 * 4] = cut_tf32(float_of(mine.a[i]));
        for (int i = 0; i < 2; i++)
            b[number + i * 4][group] = cut_tf32(float_of(mine.b[i]));
    }
    finish_mma<8>(lane, a, b);
}

CUSIM_QUIET inline void mma_together(MmaRegisters registers,
                                     void (*finish)(void *const[32], unsigned),
                                     const char *name, Where where)
{
    need_whole_warp(
        "mma.sync needs all 32 lanes of a warp: launch blocks of a multiple "
        "of 32 threads",
        where);
    together(0xffffffffu, &registers, finish, name, where);
}

/* ---- ldmatrix -------------------------------------------------------------------- */

/* Matrices of 8 rows of 16 bytes; lanes 8 m to 8 m + 7 pass the rows of matrix m. */
struct MatrixRows {
    typedef WordOf<16>::type Row;
    Row row;
    uint32_t got[4];
};

/* Gives lane l two numbers of row l / 4 of each matrix (transposed: column l / 4). */
template <int count, bool transposed>
CUSIM_QUIET inline void finish_ldmatrix(void *const lane[32], unsigned)
{
    for (int m = 0; m < count; m++)
        for (int l = 0; l < 32; l++) {
            uint32_t word = 0;
            for (int i = 0; i < 2; i++) {
                const int column = transposed ? l / 4 : l % 4 * 2 + i;
                const int row = transposed ? l % 4 * 2 + i : l / 4;
                const uint32_t pair =
                    ((const MatrixRows *)lane[8 * m + row])->row[column / 2];
                word |= (pair >> column % 2 * 16 & 0xffff) << i * 16;
            }
            ((MatrixRows *)lane[l])->got[m] = word;
        }
}

/* Loads matrices: each lane reads the row at its address, as on a GPU. */
template <int count, bool transposed>
CUSIM_INLINE void ldmatrix(uint32_t (&registers)[count], const void *row,
                           const char *name, Where where)
{
    need_whole_warp(
        "ldmatrix needs all 32 lanes of a warp: launch blocks of a multiple "
        "of 32 threads",
        where);
    MatrixRows mine = {};
    if (lane_number() < 8 * count) {
        if (uintptr_t(row) % 16 != 0)
            trap("ldmatrix: each row must start at a multiple of 16 bytes. Align the "
                 "array with __align__(16) and pad its rows to multiples of 8 halves",
                 where);
        mine.row = *(const MatrixRows::Row *)row;
    }
    together(0xffffffffu, &mine, finish_ldmatrix<count, transposed>, name, where);
    for (int m = 0; m < count; m++) registers[m] = mine.got[m];
}

}  // namespace cusim

#endif
