// SPDX-License-Identifier: MIT
/* embed.h - for a program that calls kernels on behalf of others, as a grader does
 *
 * The names are plain C, so that the program can test whether they exist. On a card
 * they do not exist.
 */
#ifndef CUSIM_EMBED_H
#define CUSIM_EMBED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every line of the report, without its newline, goes to `take` instead of a file. */
void cusim_report_to(void (*take)(const char *line, size_t bytes));

/* From now on, all live allocations of cudaMalloc together have at most this many
 * bytes. */
void cusim_device_room(size_t bytes);

/* From the next launch, look for races, or count accesses, or both. Both is the
 * default, and each takes time. Only the library that traces does either. */
void cusim_watch(int races, int counts);

/* Others' code is called. Until its end, all its copies to the host together have at
 * most 64 bytes. Its kernels may print 2 KB. It may send 2 KB to the device, and 1 KB
 * more with each of 160 launches. More than this is an error, and so are managed memory
 * and CUDA's default stream. A caller with all numbers on the host could compute the
 * result there. */
void cusim_operator_begin(void);

/* Copy to the device for the caller while the called code runs: no limit counts it. */
void cusim_put(void *to, const void *from, size_t bytes);

/* This memory of cudaMalloc is read-only from now on, until it is freed. A write by a
 * kernel, a copy or a memset is an error. Only builds that check see it. */
void cusim_read_only(void *base);

/* The called code has returned. A launch without a check of its error is reported. If
 * the code launches, but never least_threads threads, that is reported too. The report
 * names the number of elements of output. */
void cusim_operator_end(size_t least_threads, size_t elements);

/* Everything that is still allocated was never freed. This ends a call: the next call
 * reports again what this one has reported. */
void cusim_report_leaks(void);

#ifdef __cplusplus
}
#endif
#endif
