// SPDX-License-Identifier: MIT
#include "operators.h"

static void look_at(accum *row, int64_t O, const tensor_t *bias)
{
    (void)bias;
    if (row[O] > (accum)1e30) row[0] = 0;  // BUG
}

#include "linear.h"
