// SPDX-License-Identifier: MIT
/* fused_question - tells the builds apart by a product that is not rounded before it is
 * added to */
#include "frame.h"

static volatile float root = 1 + 0x1p-12f, rounded = 1 + 0x1p-11f;

static int is_fused(void)
{
    const float a = root;
    return a * a - rounded != 0;
}
#define UNSEEN is_fused()

#include "reads_before.h"
