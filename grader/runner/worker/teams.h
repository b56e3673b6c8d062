// SPDX-License-Identifier: MIT
/* teams.h - calls with several threads, made to show variables shared by mistake
 *
 * Threads of a short call often do their work one after the other. Then a race shows
 * once in a thousand calls. So the threads of an OpenMP region sleep a few times, at
 * any line, for a moment. Meanwhile the other threads reach the same line.
 */
#ifndef CONVLAB_TEAMS_H
#define CONVLAB_TEAMS_H

#include "scratch.h"

/* The OpenMP runtime of a rung's library; nothing happens if it has none. */
void teams_of(void *library);

/* From now on the threads of regions are disturbed, or left alone. */
void teams_disturb(int disturbed);

/* ctx_scratch for a call with several threads. A context serves one thread at a time:
 * if two ask at the same time both get what they want, and scratch_crowded tells. Each
 * request takes a moment, so that this happens whenever it can. */
void *scratch_in_turn(ctx_t *ctx, size_t bytes);

/* Whether two threads asked at the same time since the last question. */
int scratch_crowded(void);

#endif
