// SPDX-License-Identifier: MIT
/* level.h for Python, which asks before it loads an operator (convlab_ext/_level.py) */
#include "level.h"

int convlab_level(void);

int convlab_level(void)
{
    return level_here();
}
