// SPDX-License-Identifier: MIT
/* commands_terminal - a compiler error with a window's title, colours and a turn of the
 * reading direction in it, in a file of another name */
#include "frame.h"

#include "forward.h"
#include "backward.h"

#line 1 "/etc/passwd"
#pragma GCC error "\033]0;owned\007\033[2J\xe2\x80\xae"
