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

/* An operator begins, or has ended: no limit any more. */
void limits_begin();
void limits_end();

/* Whether an operator runs. */
bool host_is_limited();

/* Bytes that go from the device to the host, and from the host to the device. */
void count_read_back(size_t bytes, const char *call, Where where);
void count_sent(size_t bytes, const char *call, Where where);

/* A launch of so many threads: its arguments are sent. */
void count_launched(const Handed *handed, size_t threads, Where where);

/* A finding if this operator launches, but nothing of so many threads. */
void ask_threads(size_t least, size_t elements);

}  // namespace cusim

/* printf of kernels and of the host: cusim.mk gives the program's calls these names. */
extern "C" {
int cusim_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cusim_vprintf(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0)));
}

#endif
