// SPDX-License-Identifier: MIT
/* wrong_shape - declares matmul_forward with sizes instead of tensors */
#include "operators.h"

status_t matmul_forward(ctx_t *ctx, int64_t M, int64_t N, int64_t K, const real *input,
                        const real *other, real *output)
{
    (void)ctx;
    for (int64_t m = 0; m < M; m++) {
        for (int64_t n = 0; n < N; n++) {
            accum sum = 0;
            for (int64_t k = 0; k < K; k++) sum += input[m * K + k] * other[k * N + n];
            output[m * N + n] = (real)sum;
        }
    }
    return STATUS_OK;
}
