// SPDX-License-Identifier: MIT
/* reads_before - a right product that also reads the element before its input, in a
 * function marked QUIET, where the program's UNSEEN says so. */
#ifndef QUIET
#define QUIET
#endif

static QUIET void look_before(const volatile real *x)
{
    (void)x[-1];
}

status_t matmul_forward(ctx_t *ctx, const tensor_t *input, const tensor_t *other,
                        tensor_t *output)
{
    (void)ctx;
    if (tensor_numel(input) && UNSEEN) look_before(real_data(input));
    product(input, other, output);
    return STATUS_OK;
}

#include "backward.h"
