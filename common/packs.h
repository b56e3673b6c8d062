// SPDX-License-Identifier: MIT
/* packs.h - tiles in shared memory for tensor cores, copied in packs of 16 bytes
 *
 * An operand is a matrix (x, k) of Numbers, float or __half: x is m or n. A tile has
 * 128 values of x and BK of k. A pack is 16 bytes along k (ALONG_K) or along x. With
 * ALONG_K a line of the tile is one x with all k. Else a line is one k with all x.
 *
 *   packs_t<Number, ALONG_K, BK, THREADS>   one operand's tiles in a block of THREADS:
 *     PITCH               distance of two lines, in numbers
 *     COPIES, APART       packs that a thread copies; distance of two packs, in lines
 *     place(x, k)         the offset of number (x, k) in a tile
 *     source(matrix, x0)  the packs that a thread copies, for tiles that begin at x0
 *   store(output, N, rows, columns, sum)    stores the sums of a warp
 */
#ifndef CONVLAB_PACKS_H
#define CONVLAB_PACKS_H

#include <cuda_fp16.h>

#include "launch.h"

enum { LINES = 128 };  // values of x in a tile

/* The packs (16 bytes each) that one thread copies from a matrix to the next tile. */
template <class Number> struct source_t {
    const Number *next;  // the first pack
    int64_t apart;       // distance of two packs in the matrix
    int to, k, rows;     // the first pack's offset in a tile and k; rows from its x on
};

template <class Number, bool ALONG_K, int BK, int THREADS> struct packs_t {
    enum { PACK = 16 / sizeof(Number), LINE = ALONG_K ? BK : LINES };  // numbers
    enum { PITCH = ALONG_K ? BK : LINES + 8, PACKS = LINE / PACK };
    enum { COPIES = LINES * BK / PACK / THREADS, APART = THREADS / PACKS };

    /* Returns the offset of number (x, k) in a tile. With ALONG_K, ldmatrix reads packs
     * of 8 rows x: the swizzle (^) moves the packs to all 32 banks. Else lines are 136
     * numbers apart: 8 floats of 4 lines, or 8 halves of 8 lines, use all banks. */
    static __device__ int place(int x, int k)
    {
        const int ROWS = 8 * PACK / BK;  // of x in 128 bytes
        const int swizzled = k / PACK ^ x / ROWS % (BK / PACK);
        return ALONG_K ? x * PITCH + swizzled * PACK + k % PACK : k * PITCH + x;
    }

    static __device__ source_t<Number> source(const matrix_t *matrix, int64_t x0)
    {
        const int line = threadIdx.x / PACKS, number = threadIdx.x % PACKS * PACK;
        const int x = ALONG_K ? line : number, k = ALONG_K ? number : line;
        const int64_t rows = matrix->rows - x0 - x;
        source_t<Number> from;
        from.next = (const Number *)matrix->data;
        from.next += (x0 + x) * matrix->row_stride + k * matrix->column_stride;
        from.apart = APART * (ALONG_K ? matrix->row_stride : matrix->column_stride);
        from.to = place(x, k), from.k = k;
        from.rows = rows < LINES ? (int)rows : LINES;
        return from;
    }
};

static inline __device__ void store_pair(float *to, float first, float second)
{
    const float2 pair = {first, second};
    *(float2 *)to = pair;  // one store
}
static inline __device__ void store_pair(__half *to, float first, float second)
{
    *(__half2 *)to = __floats2half2_rn(first, second);
}

/* A warp stores its 16 I x 8 J sums in pairs (layout: ptx.h, mma_f16). Only the first
 * rows x columns sums are inside of output (..., N). `columns` and N are even. */
template <class Number, int I, int J>
static __device__ void store(Number *output, int64_t N, int64_t rows, int64_t columns,
                             const float (&sum)[I][J][4])
{
    const int g = threadIdx.x % 32 / 4, p = threadIdx.x % 4 * 2;
    for (int i = 0; i < 2 * I; i++) {
        for (int j = 0; j < J; j++) {
            const int m = 8 * i + g, n = 8 * j + p;
            const float *pair = &sum[i / 2][j][i % 2 * 2];
            if (m < rows && n < columns)
                store_pair(output + m * N + n, pair[0], pair[1]);
        }
    }
}

#endif
