// SPDX-License-Identifier: MIT
/* embed.h - for a program that calls kernels on behalf of others, as a grader does
 *
 * The functions are plain C, so that the program can test whether they exist. With a
 * real GPU they do not exist.
 */
#ifndef CUSIM_EMBED_H
#define CUSIM_EMBED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sends every line of the report (without newline) to `take`, instead of a file. */
void cusim_report_to(void (*take)(const char *line, size_t bytes));

/* From now on, all live allocations of cudaMalloc together have at most `bytes`
 * bytes. */
void cusim_device_room(size_t bytes);

/* From the next launch on, cusim looks for races, or counts accesses, or does both.
 * Both is the default, and takes time. Only the tracing library can do either. */
void cusim_watch(int races, int counts);

/* Call this before an operator of others. Until its end, all its copies to the host
 * together have at most 64 bytes. Its kernels may print 2 KB. It may send 2 KB to the
 * device, and 1 KB more with each of 160 launches. Larger transfers are errors, and so
 * are managed memory and the default stream. Else the operator could compute the result
 * on the CPU. */
void cusim_operator_begin(void);

/* Copies to the device for the caller, while an operator runs. No limit counts it. */
void cusim_put(void *to, const void *from, size_t bytes);

/* Makes memory of cudaMalloc read-only until it is freed. Then a write by a kernel, a
 * copy or a memset is an error. Only builds that check see this error. */
void cusim_read_only(void *base);

/* Call this after an operator of others. cusim reports a launch without a check of its
 * error. cusim also reports an operator that launches, but never least_threads threads.
 * This report names `elements`, the number of elements of output. */
void cusim_operator_end(size_t least_threads, size_t elements);

/* Reports all memory that is still allocated as leaks. This ends a call: in the next
 * call, cusim reports again what it reported in this call. */
void cusim_report_leaks(void);

#ifdef __cplusplus
}
#endif
#endif
