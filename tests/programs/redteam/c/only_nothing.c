// SPDX-License-Identifier: MIT
/* only_nothing - computes products of empty matrices, and leaves all others to a
 * lower file */
#include "frame.h"

static int is_own(const tensor_t *input, const tensor_t *other)
{
    return tensor_numel(input) == 0 || tensor_numel(other) == 0;
}

#include "leaves.h"
