// SPDX-License-Identifier: MIT
/* frame - what every program here begins with: the right product of two matrices. What
 * it calls its frame is put in its place, see tests/proofs/frames.py. */
#define _GNU_SOURCE
#include "operators.h"

/* A sum and the next product for it. */
typedef accum add_fn(accum sum, real x, real w);

static inline accum add_product(accum sum, real x, real w)
{
    return sum + (accum)x * (accum)w;
}

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N), summed up by add */
static inline void product_by(add_fn *add, const tensor_t *lhs, const tensor_t *rhs,
                              const tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], K = lhs->size[C];

    for (int64_t b = 0; b < tensor_count(output, R); b++) {
        const real *x = real_data(lhs) + tensor_offset(lhs, R, b);
        const real *w = real_data(rhs) + tensor_offset(rhs, R, b);
        real *y = real_data(output) + tensor_offset(output, R, b);
        for (int64_t m = 0; m < M; m++) {
            for (int64_t n = 0; n < N; n++) {
                accum sum = 0;
                for (int64_t k = 0; k < K; k++) {
                    sum = add(sum, x[m * lhs->stride[R] + k * lhs->stride[C]],
                              w[k * rhs->stride[R] + n * rhs->stride[C]]);
                }
                y[m * N + n] = (real)sum;
            }
        }
    }
}

static inline void product(const tensor_t *lhs, const tensor_t *rhs,
                           const tensor_t *output)
{
    product_by(add_product, lhs, rhs, output);
}

/* The same matrices with rows and columns exchanged. */
static inline tensor_t transposed(const tensor_t *t)
{
    const int32_t R = t->ndim - 2, C = t->ndim - 1;
    tensor_t view = *t;
    view.size[R] = t->size[C];
    view.size[C] = t->size[R];
    view.stride[R] = t->stride[C];
    view.stride[C] = t->stride[R];
    return view;
}

/* The gradients of lhs and rhs, of those that are wanted. */
static inline void product_backward(const tensor_t *grad_output, const tensor_t *lhs,
                                    const tensor_t *rhs, tensor_t *grad_lhs,
                                    tensor_t *grad_rhs)
{
    const tensor_t lhs_t = transposed(lhs), rhs_t = transposed(rhs);
    if (grad_lhs) product(grad_output, &rhs_t, grad_lhs);
    if (grad_rhs) product(&lhs_t, grad_output, grad_rhs);
}

/* The last size: so many elements a row has. */
static inline int64_t columns(const tensor_t *t)
{
    return t->size[t->ndim - 1];
}

/* Adds a number to every element. */
static inline void add_to_all(tensor_t *output, real number)
{
    for (int64_t i = 0; i < tensor_numel(output); i++) real_data(output)[i] += number;
}
