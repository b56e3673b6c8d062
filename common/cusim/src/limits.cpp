// SPDX-License-Identifier: MIT
#include "limits.h"

#include <algorithm>
#include <cstdio>

#include "findings.h"
#include "schedule.h"

namespace cusim
{

enum : size_t {
    READ_BACK = 64,        // bytes: a few counts
    PRINTED = 2 << 10,     // bytes of text: some lines to look for a mistake
    SENT = 2 << 10,        // bytes
    SENT_A_LAUNCH = 1024,  // four tensors as arguments are 500
    MOST_LAUNCHES = 160,   // that bring more of it: 3 for each place of a 3D kernel
};

static struct {
    bool on;
    size_t read_back, printed, sent, launches;
    size_t threads;  // of the largest launch
    Where largest;
} limits;

void limits_begin()
{
    limits = {};
    limits.on = true;
}

void limits_end()
{
    limits.on = false;
}

bool host_is_limited()
{
    return limits.on;
}

void count_read_back(size_t bytes, const char *call, Where where)
{
    limits.read_back += bytes;
    if (!limits.on || limits.read_back <= READ_BACK) return;
    found(Level::error, "read_back",
          text("%s: this call has copied %zu bytes from the device to the host, the "
               "limit is %zu. Compute in kernels, where the tensors are",
               call, limits.read_back, (size_t)READ_BACK),
          {{"called", where}});
}

void count_sent(size_t bytes, const char *call, Where where)
{
    limits.sent += bytes;
    const size_t most =
        SENT + SENT_A_LAUNCH * std::min<size_t>(limits.launches, MOST_LAUNCHES);
    if (!limits.on || limits.sent <= most) return;
    found(
        Level::error, "sent",
        text(
            "%s: this call has sent %zu bytes from the host to the device, with the "
            "arguments of its %zu launches. The limit is %zu. Compute in kernels, "
            "where the tensors are, and let one launch do the work of several launches",
            call, limits.sent, limits.launches, most),
        {{"called", where}});
}

void count_launched(const Handed *handed, size_t threads, Where where)
{
    size_t bytes = 0;
    for (; handed && handed->at; handed++) bytes += handed->bytes;
    limits.launches++;
    if (threads > limits.threads) limits.largest = where;
    limits.threads = std::max(limits.threads, threads);
    count_sent(bytes, "a launch", where);
}

void ask_threads(size_t least, size_t elements)
{
    if (!limits.on || !limits.launches || limits.threads >= least) return;
    found(Level::error, "few_threads",
          text("the largest launch of this call has %zu thread%s for %zu elements of "
               "output. Give each thread some of the elements, and launch at least %zu "
               "threads",
               limits.threads, limits.threads == 1 ? "" : "s", elements, least),
          {{"launched", limits.largest}});
}

}  // namespace cusim

/* ---- printf ---------------------------------------------------------------------- */

using namespace cusim;

int cusim_vprintf(const char *format, va_list arguments)
{
    if (!limits.on || !in_kernel()) return vprintf(format, arguments);
    va_list again;
    va_copy(again, arguments);
    const int bytes = vsnprintf(nullptr, 0, format, again);
    va_end(again);
    limits.printed += (size_t)std::max(bytes, 0);
    if (limits.printed <= PRINTED) return vprintf(format, arguments);
    found(Level::error, "printed",
          text("the kernels of this call print more than %zu bytes. Remove printf, or "
               "let one thread of one block print",
               (size_t)PRINTED),
          {here("printed", Where{nullptr, 0})});
    return bytes;
}

int cusim_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int bytes = cusim_vprintf(format, arguments);
    va_end(arguments);
    return bytes;
}
