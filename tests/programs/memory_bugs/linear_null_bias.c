// SPDX-License-Identifier: MIT
#include "operators.h"

static void look_at(accum *row, int64_t O, const tensor_t *bias)
{
    (void)O;
    const real first = *at1(bias, 0);  // BUG
    if (first > (real)1e30) row[0] = 0;
}

#include "linear.h"
