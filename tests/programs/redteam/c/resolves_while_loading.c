// SPDX-License-Identifier: MIT
/* resolves_while_loading - no constructor, but a function that tells an address */
#include "frame.h"
#include "loader.h"

static gemm_fn *gemm;
static int borrowed;

static int answer(void)
{
    return borrowed;
}

static int (*resolve(void))(void)
{
    borrowed = borrow(&gemm);
    return answer;
}

int seems_harmless(void) __attribute__((ifunc("resolve")));

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    if (!seems_harmless()) return STATUS_NOT_IMPLEMENTED;
    return borrowed_product(ctx, gemm, input, other, output);
}

#include "backward.h"
