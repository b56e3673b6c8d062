// SPDX-License-Identifier: MIT
/* quotes_another - reads before its input, in a line that it calls one of a solution */
#include "frame.h"

#define UNSEEN 1
#line 20 "labs/02_naive_c/matmul/01_loop_order.c"
#include "reads_before.h"
