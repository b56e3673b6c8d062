// SPDX-License-Identifier: MIT
/* undecodable_line - reads before its input, in a file whose name is no text */
#include "frame.h"

#define UNSEEN 1
#line 1 "\xff\xfe.c"
#include "reads_before.h"
