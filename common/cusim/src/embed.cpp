// SPDX-License-Identifier: MIT
#include "cusim/embed.h"

#include <cstdint>

#include "errors.h"
#include "findings.h"
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

void cusim_operator_begin(size_t read_back)
{
    cusim::read_back_limit(read_back);
}

void cusim_operator_end(void)
{
    cusim::read_back_limit(SIZE_MAX);
    cusim::note_end();
}

void cusim_report_leaks(void)
{
    cusim::report_leaks();
    cusim::forget_findings();
}
