/* 03 flat rows
 *
 *   does     cumsum forward: sums up each row from left to right
 *   seen     NVIDIA/TransformerEngine pull request 1017 (2024): Linear and LayerNorm of
 *            some inputs were wrong, without an error message
 *   passes   tensors as PyTorch creates them, and reshaped tensors
 *   run      make grade T=02_naive_c/bug_hunt/03
 */
#include "exhibits.h"

/* output[r,d] = sum of input[r,0] to input[r,d], for every row r of the leading axes */
status_t cumsum_forward(ctx_t *ctx, const tensor_t *input, tensor_t *output)
{
    const int64_t D = input->size[input->ndim - 1], COUNT = tensor_numel(input);
    // BEGIN SOLUTION
    const real *from = tensor_contiguous(ctx, input);
    if (!from && COUNT > 0) return STATUS_NO_MEMORY;
    // END SOLUTION
    // STARTER const real *from = real_data(input);
    // STARTER (void)ctx;

    real *to = real_data(output);
    accum sum = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        if (i % D == 0) sum = 0;  // a new row
        sum += from[i];
        to[i] = (real)sum;
    }
    return STATUS_OK;
}
