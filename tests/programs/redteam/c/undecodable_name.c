// SPDX-License-Identifier: MIT
/* undecodable_name - asks for a function whose name is no text */
#include "frame.h"

extern void strange(void) __asm__("\xff\xfe") __attribute__((weak));
#define UNSEEN (!strange)

#include "reads_before.h"
