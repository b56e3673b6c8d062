// SPDX-License-Identifier: MIT
/* uses_library - calls BLAS, which nothing here links */
#include "frame.h"

void cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                 const void *a, int lda, const void *b, int ldb, double beta, void *c,
                 int ldc);

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;
    const int M = (int)output->size[R], N = (int)output->size[C];
    const int K = (int)input->size[C];
    const real *x = tensor_contiguous(ctx, input);  // (..., M, K)
    const real *w = tensor_contiguous(ctx, other);  // (..., K, N)
    if (!x || !w) return STATUS_NO_MEMORY;
    real *y = real_data(output);
    for (int64_t b = 0; b < tensor_count(output, R); b++) {
        cblas_dgemm(101, 111, 111, M, N, K, 1, x + b * M * K, K, w + b * K * N, N, 0,
                    y + b * M * N, N);
    }
    return STATUS_OK;
}

#include "backward.h"
