// SPDX-License-Identifier: MIT
/* layout.h - tensors around memory, and offsets of elements of images
 *
 * It is for launchers and kernels of lab 04 that make matrices of scratch memory, or
 * loop over images. Its functions only compute addresses.
 */
#ifndef CONVLAB_LAYOUT_H
#define CONVLAB_LAYOUT_H

#include "launch.h"

/* A contiguous tensor on the device with these sizes. It does not own its memory: this
 * is scratch, or the result of tensor_contiguous. Do not write to it if `data` was
 * const. */
static inline tensor_t tensor_dense(const real *data, int32_t ndim, const int64_t *size)
{
    tensor_t t = {};
    t.data = (void *)(uintptr_t)data;  // the data of a tensor is never const
    t.ndim = ndim, t.dtype = REAL_DTYPE, t.device = DEVICE_CUDA;
    int64_t stride = 1;
    for (int32_t d = ndim - 1; d >= 0; d--) {
        t.size[d] = size[d], t.stride[d] = stride;
        stride *= size[d];
    }
    return t;
}

/* A matrix (R, D) */
static inline tensor_t tensor_2d(const real *data, int64_t R, int64_t D)
{
    const int64_t size[] = {R, D};
    return tensor_dense(data, 2, size);
}

/* N matrices (N, R, D) */
static inline tensor_t tensor_3d(const real *data, int64_t N, int64_t R, int64_t D)
{
    const int64_t size[] = {N, R, D};
    return tensor_dense(data, 3, size);
}

/* N times G matrices (N, G, R, D) */
static inline tensor_t tensor_4d(const real *data, int64_t N, int64_t G, int64_t R,
                                 int64_t D)
{
    const int64_t size[] = {N, G, R, D};
    return tensor_dense(data, 4, size);
}

/* The elements of a result; NULL if the result is not wanted. */
static inline real *data_or_null(const tensor_t *t)
{
    return t ? real_data(t) : NULL;
}

/* An element of a batch of images (N, C, H, W). */
typedef struct {
    int64_t n, c, h, w;
} place_t;

/* The position of the i-th element in row-major order, for all strides: neighbours are
 * along w. */
static inline HOST_DEVICE place_t place_of(const tensor_t *images, int64_t i)
{
    const int64_t C = images->size[1], H = images->size[2], W = images->size[3];
    place_t at;
    at.w = i % W, at.h = i / W % H;
    at.c = i / (H * W) % C, at.n = i / (C * H * W);
    return at;
}

/* Whether images have a pixel in row h and column w. Otherwise it is padding. */
static inline HOST_DEVICE bool has_pixel(const tensor_t *images, int64_t h, int64_t w)
{
    return h >= 0 && h < images->size[2] && w >= 0 && w < images->size[3];
}

#endif
