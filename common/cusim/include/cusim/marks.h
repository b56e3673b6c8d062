// SPDX-License-Identifier: MIT
/* marks.h - attributes that tell compilers which accesses the checks see
 *
 * A check names a line of the .cu file. cusim makes some accesses for the student: a
 * load by __ldg, a conversion of a[i]. These belong to the student's line, so the
 * functions are inlined at every level of optimisation. Then the line of the call is
 * among the frames of the access. Other accesses of cusim must not be counted. */
#ifndef CUSIM_MARKS_H
#define CUSIM_MARKS_H

/* A function that is always inlined, so accesses belong to the caller's line. */
#define CUSIM_INLINE inline __attribute__((always_inline))

/* A function that -fsanitize=thread does not trace; -fsanitize=address checks it. gcc
 * and clang refuse to inline such a function into a traced function. */
#define CUSIM_QUIET __attribute__((no_sanitize_thread))

#endif
