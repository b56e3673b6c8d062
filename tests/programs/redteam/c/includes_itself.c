// SPDX-License-Identifier: MIT
/* includes_itself - two times, 40 levels deep: a text that no disk holds */
#include "frame.h"
#if __INCLUDE_LEVEL__ < 40
static const char more[] = "a text of some length, and again, and again, and again";
#include "includes_itself.c"
#include "includes_itself.c"
#endif
#include "backward.h"
