// SPDX-License-Identifier: MIT
#include "cusim/embed.h"

#include "errors.h"
#include "findings.h"
#include "limits.h"
#include "memory.h"
#include "trace.h"

void cusim_report_to(void (*take)(const char *line, size_t bytes))
{
    cusim::report_to(take);
}

void cusim_device_room(size_t bytes)
{
    cusim::device_limit(bytes);
}

void cusim_watch(int races, int counts)
{
#ifdef CUSIM_TRACE
    cusim::watch(races, counts);
#endif
    (void)races, (void)counts;
}

void cusim_operator_begin(void)
{
    cusim::limits_begin();
}

void cusim_put(void *to, const void *from, size_t bytes)
{
    cusim::put(to, from, bytes);
}

void cusim_read_only(void *base)
{
    cusim::device_read_only(base);
}

void cusim_operator_end(size_t least_threads, size_t elements)
{
    cusim::ask_threads(least_threads, elements);
    cusim::limits_end();
    cusim::note_end();
}

void cusim_report_leaks(void)
{
    cusim::report_leaks();
    cusim::forget_findings();
}
