// SPDX-License-Identifier: MIT
/* same_number - threads of a region all write the same number to one variable */
#include "frame.h"
#include "backward.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    int64_t written = 0;
#pragma omp parallel for num_threads(ctx->threads)
    for (int64_t i = 0; i < tensor_numel(output); i++) written = 1;
    product(input, other, output);
    return written || !tensor_numel(output) ? STATUS_OK : STATUS_NO_MEMORY;
}
