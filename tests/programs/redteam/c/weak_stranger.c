// SPDX-License-Identifier: MIT
/* weak_stranger - asks the same of a library that comes with the sanitizers */
#include "frame.h"

extern void cout(void) __asm__("_ZSt4cout") __attribute__((weak));
extern void disable(void) __asm__("__lsan_disable") __attribute__((weak));
#define UNSEEN (!cout && !disable)

#include "reads_before.h"
