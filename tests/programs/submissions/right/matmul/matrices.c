// SPDX-License-Identifier: MIT
/* a struct for a matrix, and one product for all three */
#include "operators.h"

typedef struct {
    const real *x;
    int64_t rows, cols, down, right;
} matrix_t;

static matrix_t matrix(const tensor_t *t, int64_t b)
{
    const int32_t d = t->ndim - 2;
    const real *x = t->data ? real_data(t) + tensor_offset(t, d, b) : NULL;
    return (matrix_t){x, t->size[d], t->size[d + 1], t->stride[d], t->stride[d + 1]};
}

static matrix_t turned(matrix_t a)
{
    return (matrix_t){a.x, a.cols, a.rows, a.right, a.down};
}

static void gemm(matrix_t a, matrix_t b, real *c)
{
    for (int64_t i = 0; i < a.rows; i++) {
        for (int64_t j = 0; j < b.cols; j++) {
            accum sum = 0;
            for (int64_t k = 0; k < a.cols; k++) {
                sum += a.x[i * a.down + k * a.right] * b.x[k * b.down + j * b.right];
            }
            c[i * b.cols + j] = (real)sum;
        }
    }
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const int32_t d = output->ndim - 2;
    const int64_t MN = output->size[d] * output->size[d + 1];
    for (int64_t b = 0; b < tensor_count(output, d); b++) {
        gemm(matrix(input, b), matrix(other, b), real_data(output) + b * MN);
    }
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    const int32_t d = input->ndim - 2;
    const int64_t M = input->size[d], K = input->size[d + 1], N = other->size[d + 1];
    for (int64_t b = 0; b < tensor_count(input, d); b++) {
        const matrix_t grad = matrix(grad_output, b);
        if (grad_input)
            gemm(grad, turned(matrix(other, b)), real_data(grad_input) + b * M * K);
        if (grad_other)
            gemm(turned(matrix(input, b)), grad, real_data(grad_other) + b * K * N);
    }
    return STATUS_OK;
}
