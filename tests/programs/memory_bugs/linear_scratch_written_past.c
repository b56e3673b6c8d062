// SPDX-License-Identifier: MIT
#include "operators.h"

static void look_at(accum *row, int64_t O, const tensor_t *bias)
{
    (void)bias;
    row[O] = 0;  // BUG
}

#include "linear.h"
