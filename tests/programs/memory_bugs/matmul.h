// SPDX-License-Identifier: MIT
/* matmul - what is right in the bugs of matmul */
#include "operators.h"

/* One element of the result: A (M, K) and B (K, N) of its batch, its row of the one and
 * its column of the other. */
typedef struct {
    const real *A, *row, *column;
    int64_t m, K, row_step, column_step;
} element_t;

static inline element_t element(const tensor_t *input, const tensor_t *other,
                                const tensor_t *output, int64_t i)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], m = i / N % M;
    const real *A = real_data(input) + tensor_offset(input, R, i / (M * N));
    const real *B = real_data(other) + tensor_offset(other, R, i / (M * N));
    return (element_t){A,
                       A + m * input->stride[R],
                       B + i % N * other->stride[C],
                       m,
                       input->size[C],
                       input->stride[C],
                       other->stride[R]};
}

static inline accum term(const element_t *e, int64_t k)
{
    return (accum)e->row[k * e->row_step] * e->column[k * e->column_step];
}

static inline accum dot(const element_t *e)
{
    accum sum = 0;
    for (int64_t k = 0; k < e->K; k++) sum += term(e, k);
    return sum;
}
