// SPDX-License-Identifier: MIT
/* weak_watch - asks whether its worker has a function of the memory check */
#include "frame.h"

extern void sanitized_watch(void) __attribute__((weak));
#define UNSEEN (!sanitized_watch)

#include "reads_before.h"
