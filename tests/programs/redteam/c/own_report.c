// SPDX-License-Identifier: MIT
/* own_report - has a function of its own by the name that a sanitizer's report has */
#include "frame.h"

static __attribute__((used)) void
say_nothing(const void *at) __asm__("__as"
                                    "an_report_load4");
static void say_nothing(const void *at)
{
    (void)at;
}
#define UNSEEN 1

#include "reads_before.h"
