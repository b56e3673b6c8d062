// SPDX-License-Identifier: MIT
/* offsets and strides written out in every loop */
#include "operators.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const int32_t r = output->ndim - 2, c = output->ndim - 1;
    const int64_t M = output->size[r], N = output->size[c], K = input->size[c];
    real *y = real_data(output);
    for (int64_t b = 0; b < tensor_count(output, r); b++) {
        const int64_t ia = tensor_offset(input, r, b), ib = tensor_offset(other, r, b);
        for (int64_t m = 0; m < M; m++) {
            for (int64_t n = 0; n < N; n++) {
                accum s = 0;
                for (int64_t k = 0; k < K; k++) {
                    const real left = real_data(
                        input)[ia + m * input->stride[r] + k * input->stride[c]];
                    const real right = real_data(
                        other)[ib + k * other->stride[r] + n * other->stride[c]];
                    s += left * right;
                }
                y[(b * M + m) * N + n] = (real)s;
            }
        }
    }
    return STATUS_OK;
}

status_t matmul_backward(ctx_t *ctx, const tensor_t *grad_output, const tensor_t *input,
                         const tensor_t *other, tensor_t *grad_input,
                         tensor_t *grad_other)
{
    const int32_t r = input->ndim - 2, c = input->ndim - 1;
    const int64_t M = input->size[r], K = input->size[c], N = other->size[c];
    for (int64_t b = 0; b < tensor_count(input, r); b++) {
        const int64_t ig = tensor_offset(grad_output, r, b);
        const int64_t ia = tensor_offset(input, r, b), ib = tensor_offset(other, r, b);
        for (int64_t i = 0; grad_input && i < M * K; i++) {
            const int64_t m = i / K, k = i % K;
            accum s = 0;
            for (int64_t n = 0; n < N; n++) {
                s += real_data(grad_output)[ig + m * grad_output->stride[r] +
                                            n * grad_output->stride[c]] *
                     real_data(other)[ib + k * other->stride[r] + n * other->stride[c]];
            }
            real_data(grad_input)[b * M * K + i] = (real)s;
        }
        for (int64_t i = 0; grad_other && i < K * N; i++) {
            const int64_t k = i / N, n = i % N;
            accum s = 0;
            for (int64_t m = 0; m < M; m++) {
                s +=
                    real_data(input)[ia + m * input->stride[r] + k * input->stride[c]] *
                    real_data(grad_output)[ig + m * grad_output->stride[r] +
                                           n * grad_output->stride[c]];
            }
            real_data(grad_other)[b * K * N + i] = (real)s;
        }
    }
    return STATUS_OK;
}
