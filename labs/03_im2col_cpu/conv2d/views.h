// SPDX-License-Identifier: MIT
/* views.h - creates tensors in scratch memory, and views of a group
 *
 *     room(ctx, N, C, H, W)        a tensor in scratch memory
 *     group(&view, weight, g, G)   a view of the filters of group g
 */
#ifndef CONVLAB_VIEWS_H
#define CONVLAB_VIEWS_H

#include "operators.h"

/* Returns a contiguous tensor (A, B, H, W) that uses the array `data`. */
static inline tensor_t dense(real *data, int64_t A, int64_t B, int64_t H, int64_t W)
{
    const int64_t HW = H * W;
    return (tensor_t){
        data, 4, REAL_DTYPE, DEVICE_CPU, {A, B, H, W}, {B * HW, HW, W, 1}};
}

/* Returns a contiguous tensor in scratch memory. Without memory, its data is NULL. */
static inline tensor_t room(ctx_t *ctx, int64_t A, int64_t B, int64_t H, int64_t W)
{
    const size_t COUNT = (size_t)(A * B * H * W);
    return dense((real *)ctx_scratch(ctx, COUNT * sizeof(real)), A, B, H, W);
}

/* Views group g of G along the first axis of t. If t is NULL, returns NULL. */
static inline tensor_t *group(tensor_t *view, const tensor_t *t, int64_t g, int64_t G)
{
    if (!t) return NULL;
    *view = *t;
    view->size[0] = t->size[0] / G;
    view->data = real_data(t) + g * view->size[0] * t->stride[0];
    return view;
}

#endif
