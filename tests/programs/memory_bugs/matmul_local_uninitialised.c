// SPDX-License-Identifier: MIT
#include "operators.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    const int32_t d = input->ndim - 2;
    const int64_t M = input->size[d], K = input->size[d + 1], N = other->size[d + 1];
    const int64_t BATCH = tensor_count(output, d);
    for (int64_t b = 0; b < BATCH; b++) {
        const real *A = real_data(input) + tensor_offset(input, d, b);
        const real *B = real_data(other) + tensor_offset(other, d, b);
        real *C = real_data(output) + b * M * N;
        for (int64_t i = 0; i < M * N; i++) {
            const int64_t m = i / N, n = i % N;
            accum sum;
            for (int64_t k = 0; k < K; k++) {
                const accum a = A[m * input->stride[d] + k * input->stride[d + 1]];
                sum += a * B[k * other->stride[d] + n * other->stride[d + 1]];  // BUG
            }
            C[i] = (real)sum;
        }
    }
    return STATUS_OK;
}
