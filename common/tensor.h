// SPDX-License-Identifier: MIT
/* tensor.h - a strided view of memory, and the status codes of operators
 *
 * A tensor_t describes where the elements of a tensor are in memory. A tensor_t owns no
 * memory, so nobody frees it. Element (i0, i1, ...) is stride[0] * i0 + stride[1] * i1
 * + ... elements after `data`. With strides, these views need no copy:
 *
 *      size {2, 3}, stride {3, 1}     a b c      row-major, the usual order
 *                                     d e f
 *      size {3, 2}, stride {1, 3}     a d        the same memory, transposed
 *                                     b e
 *                                     c f
 *      size {2, 3}, stride {0, 1}     a b c      the first row, read twice (broadcast)
 *                                     a b c
 *
 * This header compiles as C11, C++17 and CUDA C, without any header of PyTorch.
 */
#ifndef CONVLAB_TENSOR_H
#define CONVLAB_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define HOST_DEVICE __host__ __device__  // kernels can call it, too
#else
#define HOST_DEVICE
#endif

enum { TENSOR_MAX_DIMS = 6 };

typedef enum {
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_I32,
    DTYPE_I64,
} dtype_t;

typedef enum {
    DEVICE_CPU,
    DEVICE_CUDA,
} device_t;

/* The return value of an operator. If not STATUS_OK, all outputs are undefined. */
typedef enum {
    STATUS_OK,
    STATUS_NOT_IMPLEMENTED,   // a starter returns it: the code is not written
    STATUS_INVALID_ARGUMENT,  // from <op>_*_check; ctx->error has a message
    STATUS_NO_MEMORY,         // ctx_scratch returned NULL
    STATUS_CUDA_ERROR,        // a CUDA call failed; ctx->error has a message
    STATUS_UNSUPPORTED,       // not for this rung: call the next lower rung
} status_t;

/* A tensor: an array of elements of `dtype` on `device`. An input may have any strides
 * of at least 0. An output is contiguous (row-major) and overlaps no input. `data` is
 * aligned to the size of one element, and perhaps not more. */
typedef struct {
    void *data;    // the first element; may be NULL if there is none
    int32_t ndim;  // 0 to TENSOR_MAX_DIMS
    dtype_t dtype;
    device_t device;
    int64_t size[TENSOR_MAX_DIMS];    // elements along each axis, 0 or more
    int64_t stride[TENSOR_MAX_DIMS];  // in elements, not bytes; 0 is broadcasting
} tensor_t;

/* Returns the number of elements of t: 1 without axes, 0 if an axis has size 0. */
static inline HOST_DEVICE int64_t tensor_numel(const tensor_t *t)
{
    int64_t count = 1;
    for (int32_t d = 0; d < t->ndim; d++) count *= t->size[d];
    return count;
}

/* Returns the number of bytes of one element, or 0 if the dtype is unknown. */
static inline HOST_DEVICE size_t dtype_bytes(dtype_t dtype)
{
    switch (dtype) {
    case DTYPE_F16:
    case DTYPE_BF16: return 2;
    case DTYPE_F32:
    case DTYPE_I32: return 4;
    case DTYPE_F64:
    case DTYPE_I64: return 8;
    }
    return 0;
}

/* Returns 1 if the elements of t are contiguous in row-major order, else 0. The
 * function ignores the stride of an axis of size 1. */
static inline HOST_DEVICE int tensor_is_contiguous(const tensor_t *t)
{
    int64_t expected = 1;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        if (t->size[d] == 0) return 1;
        if (t->size[d] != 1 && t->stride[d] != expected) return 0;
        expected *= t->size[d];
    }
    return 1;
}

/* Returns an offset from t->data in elements. `index` counts the positions along the
 * first `axes` axes, in row-major order, also if t is not contiguous:
 *
 *     tensor_offset(t, t->ndim, i)       the i-th element
 *     tensor_offset(t, t->ndim - 1, r)   the r-th row (all axes but the last)
 *     tensor_offset(t, t->ndim - 2, b)   the b-th matrix (all axes but the last two) */
static inline HOST_DEVICE int64_t tensor_offset(const tensor_t *t, int32_t axes,
                                                int64_t index)
{
    int64_t offset = 0;
    for (int32_t d = axes - 1; d >= 0; d--) {
        offset += index % t->size[d] * t->stride[d];
        index /= t->size[d];
    }
    return offset;
}

/* Returns the product of the first `axes` sizes: the number of rows, or of matrices. */
static inline HOST_DEVICE int64_t tensor_count(const tensor_t *t, int32_t axes)
{
    int64_t count = 1;
    for (int32_t d = 0; d < axes; d++) count *= t->size[d];
    return count;
}

#endif
