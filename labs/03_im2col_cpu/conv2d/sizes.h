// SPDX-License-Identifier: MIT
/* sizes.h - small functions for sizes */
#ifndef CONVLAB_SIZES_H
#define CONVLAB_SIZES_H

#include <stdint.h>

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns how many parts of size `part` cover `whole`. The last part may be smaller. */
static inline int64_t parts(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

#endif
