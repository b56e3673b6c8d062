// SPDX-License-Identifier: MIT
/* dense copies, k outermost */
#include "operators.h"

static void clear(tensor_t *t)
{
    for (int64_t i = 0; t && i < tensor_numel(t); i++) real_data(t)[i] = 0;
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    clear(output);
    const int32_t d = output->ndim - 2;
    const int64_t M = output->size[d], N = output->size[d + 1], K = input->size[d + 1];
    if (tensor_numel(output) == 0 || K == 0) return STATUS_OK;
    const real *a = tensor_contiguous(ctx, input), *b = tensor_contiguous(ctx, other);
    if (!a || !b) return STATUS_NO_MEMORY;
    real *c = real_data(output);
    for (int64_t i = tensor_count(output, d); i > 0;
         i--, a += M * K, b += K * N, c += M * N) {
        for (int64_t k = 0; k < K; k++) {
            for (int64_t m = 0; m < M; m++) {
                const real factor = a[m * K + k];
                for (int64_t n = 0; n < N; n++) c[m * N + n] += factor * b[k * N + n];
            }
        }
    }
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    clear(grad_input);
    clear(grad_other);
    const int32_t d = input->ndim - 2;
    const int64_t M = input->size[d], K = input->size[d + 1], N = other->size[d + 1];
    const int64_t B = tensor_count(input, d);
    if (B * M * N * K == 0) return STATUS_OK;
    const real *a = tensor_contiguous(ctx, input), *b = tensor_contiguous(ctx, other);
    const real *g = tensor_contiguous(ctx, grad_output);
    if (!a || !b || !g) return STATUS_NO_MEMORY;
    for (int64_t i = 0; i < B * M * K * N; i++) {
        const int64_t s = i / (M * K * N), m = i / (K * N) % M, k = i / N % K,
                      n = i % N;
        const real grad = g[(s * M + m) * N + n];
        if (grad_input)
            real_data(grad_input)[(s * M + m) * K + k] += grad * b[(s * K + k) * N + n];
        if (grad_other)
            real_data(grad_other)[(s * K + k) * N + n] += grad * a[(s * M + m) * K + k];
    }
    return STATUS_OK;
}
