// SPDX-License-Identifier: MIT
/* object_size - asks the compiler for a size that only optimising makes known */
#include "frame.h"

static int is_optimised(void)
{
    static char eight[8];
    const char *pointer = eight;
    return __builtin_object_size(pointer, 0) == sizeof eight;
}
#define UNSEEN is_optimised()

#include "reads_before.h"
