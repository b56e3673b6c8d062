// SPDX-License-Identifier: MIT
/* pasted_question - asks whether a number is known, by a name in two pieces */
#include "frame.h"

#define PASTE(a, b) a##b

static int is_optimised(void)
{
    const int one = 1;
    return PASTE(__builtin_const, ant_p)(one);
}
#define UNSEEN is_optimised()

#include "reads_before.h"
