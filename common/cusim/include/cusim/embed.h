// SPDX-License-Identifier: MIT
/* embed.h - for a program that calls kernels on behalf of others, as a grader does
 *
 * Plain C names, so that it can look whether they are there: on a card they are not.
 */
#ifndef CUSIM_EMBED_H
#define CUSIM_EMBED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every line of the report, without its newline, goes to `take` instead of a file. */
void cusim_report_to(void (*take)(const char *line, size_t bytes));

/* cudaMalloc gives at most so many bytes from now on, of what is alive together. */
void cusim_device_room(size_t bytes);

/* From the next launch on look for races, or count accesses, or both, as at first:
 * each costs time. Only the library that traces does either. */
void cusim_watch(int races, int counts);

/* Others' code is called: until its end it may copy 64 bytes to the host, all copies
 * together, print 2 KB in kernels, and send 2 KB to the device and 1 KB more with each
 * of 160 launches. What goes beyond, managed memory and CUDA's default stream are
 * errors: whoever has the numbers on the host can compute there. */
void cusim_operator_begin(void);

/* Copy to the device for whoever calls the code, while it runs: no limit counts it. */
void cusim_put(void *to, const void *from, size_t bytes);

/* What cudaMalloc gave there is only read from now on, until it is freed: a write by a
 * kernel, a copy or a memset is an error. Only builds that check see it. */
void cusim_read_only(void *base);

/* The called code has returned: a launch that nobody asked about is reported, and a
 * largest launch of fewer threads, for so many elements of output. */
void cusim_operator_end(size_t least_threads, size_t elements);

/* What is alive now was never freed. Ends a call: the next one reports anew what this
 * one has reported. */
void cusim_report_leaks(void);

#ifdef __cplusplus
}
#endif
#endif
