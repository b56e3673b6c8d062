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
        for (int64_t i = 0; i < M * N && K == 0; i++) C[i] = 0;
        for (int64_t i = 0; i < M * N * K; i++) {
            const int64_t m = i / (N * K), n = i / K % N, k = i % K;
            const accum a = A[m * input->stride[d] + k * input->stride[d + 1]];
            const accum b = B[k * other->stride[d] + n * other->stride[d + 1]];
            C[m * N + n] += a * b;  // BUG
        }
    }
    return STATUS_OK;
}
