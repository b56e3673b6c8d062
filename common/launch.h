// SPDX-License-Identifier: MIT
/* launch.h - helpers for the launchers of CUDA rungs
 *
 * CUDA_TRY returns an error if a CUDA call fails. Other functions compute the number of
 * blocks, make contiguous copies, or make views of the matrices of a batch. A C++17
 * compiler can compile this file without nvcc. It needs the declarations of the CUDA
 * runtime, and a program that has translated the launches, <<<...>>>.
 *
 * A launcher runs on the CPU. On the CPU no code may read elements: t->data points to
 * GPU memory. Only kernels read elements. Pass a tensor_t to a kernel by value:
 *
 *     const __grid_constant__ tensor_t input
 *
 * Kernel arguments are in constant memory, once for all threads. __grid_constant__
 * keeps the tensor_t there. Without __grid_constant__, each thread copies the 120 bytes
 * of `input` if a loop takes the address (tensor_offset(&input, ...)).
 */
#ifndef CONVLAB_LAUNCH_H
#define CONVLAB_LAUNCH_H

#include <cuda_runtime.h>
#include <stdio.h>

#include "operators.h"

/* If the CUDA call fails, CUDA_TRY writes a message to ctx->error and returns
 * STATUS_CUDA_ERROR from the operator. After a launch, the call is cudaGetLastError():
 * it reports a launch that failed to start. If a kernel fails while it runs, the
 * operator's caller gets the error when it waits for the stream. */
#define CUDA_TRY(ctx, call)                                                            \
    do {                                                                               \
        const cudaError_t cuda_try_error = (call);                                     \
        if (cuda_try_error != cudaSuccess) {                                           \
            return cuda_failure((ctx), cuda_try_error, #call, __LINE__);               \
        }                                                                              \
    } while (0)

static inline status_t cuda_failure(ctx_t *ctx, cudaError_t error, const char *call,
                                    int line)
{
    snprintf(ctx->error, CTX_ERROR_BYTES, "cuda: '%s' in line %d says '%s' (%s)", call,
             line, cudaGetErrorString(error), cudaGetErrorName(error));
    return STATUS_CUDA_ERROR;
}

/* Returns the number of blocks of `part` elements for `count` elements; 0 for 0. */
static inline HOST_DEVICE int64_t ceil_div(int64_t count, int64_t part)
{
    return (count + part - 1) / part;
}

/* Returns `blocks` as a grid's x, or 0 if `blocks` is above 2^31 - 1. Rungs number
 * blocks only along x, because y and z are at most 65535. A grid of 0 blocks fails to
 * launch, so the operator reports an error instead of half a result. If there are no
 * elements, return before the launch. */
static inline unsigned grid_of(int64_t blocks)
{
    return blocks <= INT32_MAX ? (unsigned)blocks : 0;
}

enum { TENSOR_COPY_THREADS = 256 };  // threads of a block

/* Returns tensor_offset(t, t->ndim, index), but divides 32-bit numbers. On a GPU a
 * 32-bit division takes a fifth of the instructions of a 64-bit division. */
static inline HOST_DEVICE int64_t tensor_offset_32(const tensor_t *t, uint32_t index)
{
    int64_t offset = 0;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        const uint32_t size = (uint32_t)t->size[d], outer = index / size;
        offset += (index - outer * size) * t->stride[d];
        index = outer;
    }
    return offset;
}

/* A block copies 256 consecutive elements of t, a thread one. No shared memory. */
static __global__ void tensor_copy_kernel(const __grid_constant__ tensor_t t,
                                          real *__restrict__ copy, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    const bool fits = COUNT <= UINT32_MAX;
    copy[i] = real_data(
        &t)[fits ? tensor_offset_32(&t, (uint32_t)i) : tensor_offset(&t, t.ndim, i)];
}

/* Returns the elements of t as a contiguous array: t->data, or else a copy in scratch
 * memory, made on ctx->stream. Returns NULL if there is no memory for the copy. Only
 * call it if t has elements. After the kernel that reads the copy, write
 * CUDA_TRY(ctx, cudaGetLastError()): this also reports a copy kernel that failed to
 * start. */
static inline const real *tensor_contiguous(ctx_t *ctx, const tensor_t *t)
{
    if (tensor_is_contiguous(t)) return real_data(t);
    const int64_t COUNT = tensor_numel(t);
    real *copy = (real *)ctx_scratch(ctx, (size_t)COUNT * sizeof(real));
    if (!copy) return NULL;
    const unsigned blocks = grid_of(ceil_div(COUNT, TENSOR_COPY_THREADS));
    tensor_copy_kernel<<<blocks, TENSOR_COPY_THREADS, 0, ctx->stream>>>(*t, copy,
                                                                        COUNT);
    return copy;
}

/* A matrix with any strides: element (r, c) is data[r * row_stride + c *
 * column_stride]. A stride counts elements, and may be 0. */
typedef struct {
    const real *data;
    int64_t rows, columns;
    int64_t row_stride, column_stride;
} matrix_t;

/* Returns a view of matrix b of a batch t (..., rows, columns). Copies no element. */
static inline HOST_DEVICE matrix_t matrix_of(const tensor_t *t, int64_t b)
{
    const int32_t row = t->ndim - 2, column = t->ndim - 1;
    matrix_t matrix;
    matrix.data = real_data(t) + tensor_offset(t, row, b);
    matrix.rows = t->size[row], matrix.columns = t->size[column];
    matrix.row_stride = t->stride[row], matrix.column_stride = t->stride[column];
    return matrix;
}

static inline HOST_DEVICE const real *matrix_at(const matrix_t *m, int64_t r, int64_t c)
{
    return m->data + r * m->row_stride + c * m->column_stride;
}

/* Returns whether the matrices of t are stored column by column, not row by row. */
static inline HOST_DEVICE bool tensor_is_down(const tensor_t *t)
{
    return t->stride[t->ndim - 2] < t->stride[t->ndim - 1];
}

/* Returns whether t can be read in aligned packs of 16 bytes, along rows or columns. */
static inline bool tensor_is_packed(const tensor_t *t)
{
    const int64_t LANES = 16 / sizeof(real);
    const int32_t dense = t->ndim - (tensor_is_down(t) ? 2 : 1);
    bool packed = t->stride[dense] == 1 && t->size[dense] % LANES == 0;
    for (int32_t d = 0; d < t->ndim; d++) {
        packed = packed && (d == dense || t->stride[d] % LANES == 0);
    }
    return packed && (uintptr_t)t->data % 16 == 0;
}

/* Returns a view (..., columns, rows) of t: each matrix of t is transposed. */
static inline HOST_DEVICE tensor_t tensor_transposed(const tensor_t *t)
{
    const int32_t row = t->ndim - 2, column = t->ndim - 1;
    tensor_t view = *t;
    view.size[row] = t->size[column], view.size[column] = t->size[row];
    view.stride[row] = t->stride[column], view.stride[column] = t->stride[row];
    return view;
}

/* The position of one tile: a matrix of the batch, a row and a column of tiles. */
typedef struct {
    int64_t matrix, row, column;
} tile_place_t;

/* Returns the tile of block i. Blocks with neighbouring i run at the same time. Block
 * numbers go down the columns of a band of BAND rows of tiles, then of the next band.
 * So 256 blocks read 16 rows and 16 columns of tiles, in L2. Row by row, in a matrix 64
 * tiles wide, the 256 blocks would read 4 rows and 64 columns. */
static inline HOST_DEVICE tile_place_t place_of_tile(int64_t i, int64_t ROWS,
                                                     int64_t COLUMNS)
{
    const int64_t BAND = 16, in_matrix = i % (ROWS * COLUMNS);
    const int64_t in_band = in_matrix % (BAND * COLUMNS);
    const int64_t row = (in_matrix - in_band) / COLUMNS;  // the band's first
    const int64_t height = ROWS - row < BAND ? ROWS - row : BAND;
    tile_place_t tile;
    tile.matrix = i / (ROWS * COLUMNS);
    tile.row = row + in_band % height, tile.column = in_band / height;
    return tile;
}

#endif
