// SPDX-License-Identifier: MIT
/* odd_table - puts three bytes of its own before the table that the loader reads */
#include "frame.h"

__asm__(".pushsection .dynamic,\"aw\"\n.byte 1, 2, 3\n.popsection");

#include "forward.h"
#include "backward.h"
