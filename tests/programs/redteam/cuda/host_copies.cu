// SPDX-License-Identifier: MIT
/* host_copies - copies inputs to the CPU, computes there, and copies the result back */
#include "frame.cuh"
#include <vector>

/* The elements of a view in order, on the CPU. */
static std::vector<real> fetched(const tensor_t *t)
{
    std::vector<real> elements((size_t)tensor_numel(t));
    for (size_t i = 0; i < elements.size(); i++) {
        const real *at = real_data(t) + tensor_offset(t, t->ndim, (int64_t)i);
        cudaMemcpy(&elements[i], at, sizeof(real), cudaMemcpyDeviceToHost);
    }
    return elements;
}

extern "C" status_t matmul_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *other, tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;  // axes of rows, columns
    const int64_t M = output->size[R], N = output->size[C], K = input->size[C];
    const std::vector<real> x = fetched(input), w = fetched(other);
    std::vector<real> y((size_t)tensor_numel(output));
    for (int64_t i = 0; i < tensor_numel(output); i++) {
        const int64_t n = i % N, m = i / N % M, b = i / (M * N);
        accum sum = 0;
        for (int64_t k = 0; k < K; k++) {
            sum += x[(b * M + m) * K + k] * w[(b * K + k) * N + n];
        }
        y[i] = sum;
    }
    CUDA_TRY(ctx, cudaMemcpy(output->data, y.data(), y.size() * sizeof(real),
                             cudaMemcpyHostToDevice));
    return STATUS_OK;
}
