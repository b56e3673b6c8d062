// SPDX-License-Identifier: MIT
/* host_computes - the launcher computes on the CPU, by following data */
#include "frame.cuh"

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], K = input->size[C];
    (void)ctx;
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const int64_t n = i % N, m = i / N % M, b = i / (M * N);
        const matrix_t left = matrix_of(input, b), right = matrix_of(other, b);
        accum sum = 0;
        for (int64_t k = 0; k < K; k++) {
            sum += *matrix_at(&left, m, k) * *matrix_at(&right, k, n);
        }
        real_data(output)[i] = sum;
    }
    return STATUS_OK;
}
