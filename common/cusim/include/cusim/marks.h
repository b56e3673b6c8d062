// SPDX-License-Identifier: MIT
/* marks.h - attributes that tell compilers which accesses the checks see
 *
 * A check names the line of the .cu file. Some accesses are made here for the student:
 * a load through __ldg, a conversion of a[i]. They belong to the student's line, so
 * their functions are inlined at every level of optimisation. The line of the call is
 * then among the frames of the access. Accesses of cusim itself must not be counted. */
#ifndef CUSIM_MARKS_H
#define CUSIM_MARKS_H

/* Part of the caller's line. */
#define CUSIM_INLINE inline __attribute__((always_inline))

/* Not traced (-fsanitize=thread); -fsanitize=address still checks it. Both compilers
 * refuse to inline such a function into a traced one. */
#define CUSIM_QUIET __attribute__((no_sanitize_thread))

#endif
