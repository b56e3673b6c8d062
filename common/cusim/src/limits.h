// SPDX-License-Identifier: MIT
/* limits.h - limits what an operator may exchange with the host while it runs
 *
 * An operator that has the numbers on the host could compute there, and then send the
 * result to the device. So exchanged bytes are limited. If a limit is exceeded, it is
 * a finding. The copy is still made, and its result is right.
 */
#ifndef CUSIM_LIMITS_H
#define CUSIM_LIMITS_H

#include <cstdarg>

#include "cusim/core.h"

namespace cusim
{

/* limits_begin starts the limits of an operator; limits_end removes them. */
void limits_begin();
void limits_end();

/* Returns whether an operator runs, so that limits hold. */
bool host_is_limited();

/* Count bytes that go from the device to the host, or from the host to the device. */
void count_read_back(size_t bytes, const char *call, Where where);
void count_sent(size_t bytes, const char *call, Where where);

/* Counts the arguments of a launch of `threads` threads as bytes to the device. */
void count_launched(const Handed *handed, size_t threads, Where where);

/* Reports an operator that launches, but never `least` threads in one launch. */
void ask_threads(size_t least, size_t elements);

}  // namespace cusim

/* printf of kernels and of the host: cusim.mk gives the program's calls these names. */
extern "C" {
int cusim_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cusim_vprintf(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0)));
}

#endif
