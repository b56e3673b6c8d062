// SPDX-License-Identifier: MIT
/* init_by_name - has a function that a linker takes for the one to run while loading */
#include "frame.h"

void _init(void);

void _init(void)
{
}

#include "forward.h"
#include "backward.h"
