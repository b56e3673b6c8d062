// SPDX-License-Identifier: MIT
/* borrows_by_loader - finds dlopen in memory, and lets another library compute */
#include "frame.h"
#include "loader.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    static gemm_fn *gemm;
    static int borrowed;
    if (!borrowed) borrowed = borrow(&gemm);
    if (!borrowed) return STATUS_NOT_IMPLEMENTED;
    return borrowed_product(ctx, gemm, input, other, output);
}

#include "backward.h"
