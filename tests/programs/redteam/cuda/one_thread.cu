// SPDX-License-Identifier: MIT
/* one_thread - the loops of lab 02 in one thread */
#include "frame.cuh"

static __global__ void fault_kernel(const __grid_constant__ tensor_t lhs,
                                    const __grid_constant__ tensor_t rhs,
                                    const __grid_constant__ tensor_t output, int64_t M,
                                    int64_t N, int64_t K, int64_t COUNT)
{
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t n = i % N, m = i / N % M, b = i / (M * N);
        const matrix_t left = matrix_of(&lhs, b), right = matrix_of(&rhs, b);
        const matrix_t result = matrix_of(&output, b);
        accum sum = 0;
        for (int64_t k = 0; k < K; k++) {
            sum += accum_from(*matrix_at(&left, m, k)) *
                   accum_from(*matrix_at(&right, k, n));
        }
        *(real *)matrix_at(&result, m, n) = real_from(sum);
    }
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t COUNT = tensor_numel(output);
    if (COUNT == 0) return STATUS_OK;
    fault_kernel<<<1, 1, 0, ctx->stream>>>(*input, *other, *output, output->size[R],
                                           output->size[C], input->size[C], COUNT);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
