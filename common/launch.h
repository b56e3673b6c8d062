// SPDX-License-Identifier: MIT
/* launch.h - helpers for the launchers of CUDA rungs
 *
 * It has CUDA_TRY for failed CUDA calls, and the number of blocks for some elements. It
 * also makes contiguous copies on the device, and views of the matrices of a batch.
 * No line needs nvcc. A C++17 compiler compiles it with the declarations of the CUDA
 * runtime, if another program has translated the launches, <<<...>>>.
 *
 * A launcher runs on the CPU. It must not read t->data, because this points into the
 * memory of the device. Its kernels may read it. Pass a tensor_t to a kernel by value:
 *
 *     const __grid_constant__ tensor_t input
 *
 * Arguments are in constant memory, once for all threads. __grid_constant__ keeps the
 * tensor_t there. Without it a loop with tensor_offset(&input, ...) takes its address.
 * Then each thread makes a copy of 120 bytes.
 */
#ifndef CONVLAB_LAUNCH_H
#define CONVLAB_LAUNCH_H

#include <cuda_runtime.h>
#include <stdio.h>

#include "operators.h"

/* CUDA_TRY(ctx, call): unless the call returns cudaSuccess, it leaves the operator
 * with STATUS_CUDA_ERROR and a sentence in ctx->error. After a launch, the call is
 * cudaGetLastError(). It reports a launch that failed to start. If a kernel fails while
 * it runs, the caller gets the error when it waits for the stream. */
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

/* The number of parts of `part` elements that cover `count`; 0 for 0. */
static inline HOST_DEVICE int64_t ceil_div(int64_t count, int64_t part)
{
    return (count + part - 1) / part;
}

/* A number of blocks as the x of a grid. x may be 2^31 - 1, but y and z only 65535, so
 * all rungs number their blocks along x. A larger number becomes 0. A grid of 0 blocks
 * cannot be launched: this is an error instead of half a result. If there are no
 * elements, the number is 0, too: return before the launch. */
static inline unsigned grid_of(int64_t blocks)
{
    return blocks <= INT32_MAX ? (unsigned)blocks : 0;
}

enum { TENSOR_COPY_THREADS = 256 };  // of a block

/* tensor_offset(t, t->ndim, index) with divisions of 32 bits. On a GPU they take a
 * fifth of the instructions of divisions of 64 bits. */
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

/* A block owns 256 consecutive elements of the copy, a thread one. No shared memory. */
static __global__ void tensor_copy_kernel(const __grid_constant__ tensor_t t,
                                          real *__restrict__ copy, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= COUNT) return;  // the last block may be partly empty
    const bool fits = COUNT <= UINT32_MAX;
    copy[i] = real_data(
        &t)[fits ? tensor_offset_32(&t, (uint32_t)i) : tensor_offset(&t, t.ndim, i)];
}

/* The tensor's elements as a contiguous block: its own memory, or else a copy in
 * scratch, made on ctx->stream. NULL if there is no memory for the copy. An empty
 * tensor may have no memory: call this only for tensors that have elements. After the
 * kernel that reads the copy, call CUDA_TRY(ctx, cudaGetLastError()). It also reports
 * a copy that failed to start. */
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

/* A matrix with any strides: element (r, c) is data[r * row_stride +
 * c * column_stride]. Strides count elements, and one of them may be 0. */
typedef struct {
    const real *data;
    int64_t rows, columns;
    int64_t row_stride, column_stride;
} matrix_t;

/* A view of matrix b of a batch (..., rows, columns). No element is copied. */
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

/* Whether neighbours in memory are in a column of the matrices of t, not in a row. */
static inline HOST_DEVICE bool tensor_is_down(const tensor_t *t)
{
    return t->stride[t->ndim - 2] < t->stride[t->ndim - 1];
}

/* Whether the matrices of t consist of packs, 16 aligned bytes, in a row or column. */
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

/* A view of a batch (..., columns, rows): the matrices of t, transposed. */
static inline HOST_DEVICE tensor_t tensor_transposed(const tensor_t *t)
{
    const int32_t row = t->ndim - 2, column = t->ndim - 1;
    tensor_t view = *t;
    view.size[row] = t->size[column], view.size[column] = t->size[row];
    view.stride[row] = t->stride[column], view.stride[column] = t->stride[row];
    return view;
}

/* A tile of a batch of matrices, each of ROWS x COLUMNS tiles. */
typedef struct {
    int64_t matrix, row, column;
} tile_place_t;

/* The tile of block i. Blocks with neighbouring numbers work at the same time. They go
 * down the columns of BAND rows of tiles, then of the next BAND rows. So 256 blocks
 * use 16 rows and 16 columns of tiles, in L2. With blocks row by row, in a matrix 64
 * tiles wide, they would use 4 rows and 64 columns. */
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
