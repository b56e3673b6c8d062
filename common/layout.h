// SPDX-License-Identifier: MIT
/* layout.h - makes a tensor_t for scratch memory, and finds pixels of images
 *
 * Launchers and kernels of lab 04 use these functions. The functions only compute
 * addresses and indices: they read and write no elements.
 */
#ifndef CONVLAB_LAYOUT_H
#define CONVLAB_LAYOUT_H

#include "launch.h"

/* Returns a contiguous tensor_t over `data`, with these sizes. `data` is GPU memory:
 * scratch memory, or what tensor_contiguous returned. If `data` belongs to an input, do
 * not write to the elements. */
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

/* Returns a contiguous tensor_t over `data`: a matrix (R, D) */
static inline tensor_t tensor_2d(const real *data, int64_t R, int64_t D)
{
    const int64_t size[] = {R, D};
    return tensor_dense(data, 2, size);
}

/* Returns a contiguous tensor_t over `data`: N matrices, (N, R, D) */
static inline tensor_t tensor_3d(const real *data, int64_t N, int64_t R, int64_t D)
{
    const int64_t size[] = {N, R, D};
    return tensor_dense(data, 3, size);
}

/* Returns a contiguous tensor_t over `data`: N times G matrices, (N, G, R, D) */
static inline tensor_t tensor_4d(const real *data, int64_t N, int64_t G, int64_t R,
                                 int64_t D)
{
    const int64_t size[] = {N, G, R, D};
    return tensor_dense(data, 4, size);
}

/* Returns the elements of an output t; NULL if t is NULL because nobody wants it. */
static inline real *data_or_null(const tensor_t *t)
{
    return t ? real_data(t) : NULL;
}

/* The index of one element of a batch of images (N, C, H, W). */
typedef struct {
    int64_t n, c, h, w;
} place_t;

/* Returns the index (n, c, h, w) of element i of `images`. i counts in row-major order
 * for all strides, so elements i and i + 1 are neighbours along w. */
static inline HOST_DEVICE place_t place_of(const tensor_t *images, int64_t i)
{
    const int64_t C = images->size[1], H = images->size[2], W = images->size[3];
    place_t at;
    at.w = i % W, at.h = i / W % H;
    at.c = i / (H * W) % C, at.n = i / (C * H * W);
    return at;
}

/* Returns whether the pixel (h, w) is inside of the images, and not in the padding. */
static inline HOST_DEVICE bool has_pixel(const tensor_t *images, int64_t h, int64_t w)
{
    return h >= 0 && h < images->size[2] && w >= 0 && w < images->size[3];
}

#endif
