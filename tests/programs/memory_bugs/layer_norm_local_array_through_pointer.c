// SPDX-License-Identifier: MIT
#include "operators.h"

static accum first_of_copy(const real *x, int64_t D, int64_t step)
{
    accum copy[4];
    accum *to = copy;
    for (int64_t d = 0; d < D; d++) *to++ = x[d * step];  // BUG
    return copy[0];
}

#include "layer_norm.h"
