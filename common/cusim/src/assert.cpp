// SPDX-License-Identifier: MIT
/* assert.cpp - an assert that fails in a kernel ends the launch and names its line
 *
 * The C library's macro calls __assert_fail; ours is found in front of its own.
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
