// SPDX-License-Identifier: MIT
/* assert.cpp - ends the launch if an assert in a kernel fails, and names its line
 *
 * The C library's macro calls __assert_fail. The linker finds the function here first.
 */
#include <cstdio>
#include <cstdlib>

#include "findings.h"
#include "schedule.h"

extern "C" [[noreturn]] void __assert_fail(const char *condition, const char *file,
                                           unsigned line, const char *function) noexcept
{
    if (cusim::in_kernel()) {
        cusim::found(cusim::Level::error, "assert",
                     cusim::text("'%s' does not hold in %s", condition, function),
                     {cusim::here("asserted", cusim::Where{file, (int)line})});
        cusim::end_launch();
    }
    fprintf(stderr, "%s:%u: %s: '%s' does not hold\n", file, line, function, condition);
    abort();
}
