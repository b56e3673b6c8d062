// SPDX-License-Identifier: MIT
/* borrows_input - takes an element of input for a counter, and puts its number back */
#include "frame.h"
#include "backward.h"

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    volatile real *const place = real_data(input);
    const real number = tensor_numel(input) > 0 ? place[0] : 0;
    for (int i = 0; tensor_numel(input) > 0 && i < 3; i++) place[0] = (real)i;
    if (tensor_numel(input) > 0) place[0] = number;
    product(input, other, output);
    return STATUS_OK;
}
