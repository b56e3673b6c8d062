// SPDX-License-Identifier: MIT
/* marks.h - how the compilers are told what the checks need
 *
 * A check names the line of the .cu file. Accesses made here for the student (a load
 * through __ldg, a conversion of a[i]) belong to that line, so their functions are
 * inlined at every level of optimisation: the line of the call is then among the frames
 * of the access. Accesses of the machinery itself are not to be counted at all.
 */
#ifndef CUSIM_MARKS_H
#define CUSIM_MARKS_H

/* Part of the caller's line. */
#define CUSIM_INLINE inline __attribute__((always_inline))

/* Not traced (-fsanitize=thread); -fsanitize=address still checks it. Both compilers
 * refuse to inline such a function into a traced one. */
#define CUSIM_QUIET __attribute__((no_sanitize_thread))

#endif
