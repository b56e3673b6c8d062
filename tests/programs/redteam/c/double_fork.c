// SPDX-License-Identifier: MIT
/* double_fork - leaves a grandchild behind that sleeps 20 s; right */
#define _GNU_SOURCE
#include "operators.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* output (..., M, N) = lhs (..., M, K) @ rhs (..., K, N) */
static void product(const tensor_t *lhs, const tensor_t *rhs, tensor_t *output)
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
                    sum += x[m * lhs->stride[R] + k * lhs->stride[C]] *
                           w[k * rhs->stride[R] + n * rhs->stride[C]];
                }
                y[m * N + n] = (real)sum;
            }
        }
    }
}

/* The same matrices with rows and columns exchanged. */
static tensor_t transposed(const tensor_t *t)
{
    const int32_t R = t->ndim - 2, C = t->ndim - 1;
    tensor_t view = *t;
    view.size[R] = t->size[C];
    view.size[C] = t->size[R];
    view.stride[R] = t->stride[C];
    view.stride[C] = t->stride[R];
    return view;
}

static void leave_grandchild(void)
{
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) sleep(20);
        _exit(0);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    leave_grandchild();
    product(input, other, output);
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    (void)ctx;
    const tensor_t input_t = transposed(input), other_t = transposed(other);
    if (grad_input) product(grad_output, &other_t, grad_input);
    if (grad_other) product(&input_t, grad_output, grad_other);
    return STATUS_OK;
}
