// SPDX-License-Identifier: MIT
/* races.h - what `worker-races` does differently from `worker`
 *
 * It runs a rung that was compiled with -fsanitize=thread, but without its library. Our
 * own functions replace the library. The compiler calls tsan.c at every access to
 * memory. openmp.c and region.c run the threads of a region one after the other. This
 * file knows which accesses are ordered, and reports the others.
 *
 * Two threads of a region access the same bytes. If at least one of them writes, and
 * nothing orders the accesses, it is a race. A barrier orders them, and so do the begin
 * and the end of the region. A lock or a critical section orders them if one thread
 * left it before the other entered it. An atomic release orders them if an acquire
 * follows. Atomic operations do not race with each other. If an access is forgotten, a
 * race can be missed; a reported race is always real.
 */
#ifndef CONVLAB_RACES_H
#define CONVLAB_RACES_H

#include <stddef.h>
#include <stdint.h>

#include "../supervisor/protocol.h"

#ifdef RACES

enum { MOST_MEMBERS = 16 };  // threads of a region, at most

/* What an access does. */
enum { READ = 0, WRITE = 1, ATOMIC = 2, ASKS = 4 };  // for scratch memory

/* A call begins: findings go to reply->report, a line each (team_races.py reads them).
 * Its regions have so many threads where they name no number; they run one after the
 * other in this call, and in the next one in the opposite order. */
void races_watch(reply_t *reply, int threads);

/* ---- for region.c ---------------------------------------------------------------- */

/* A region with so many members begins: they know all that was done before. */
void races_fork(int members);

/* This thread is a member from here on, and what it puts on the stack is its own. */
void races_enter(int member);
void races_leave(void);

/* All members have come to a barrier. */
void races_barrier(void);

/* This member hands on what it knows to whom acquires the same object. */
void races_release(const void *object);
void races_acquire(const void *object);

/* ---- for tsan.c ------------------------------------------------------------------ */

/* A member uses memory; `pc` is where it returns to. */
void races_access(const void *address, size_t bytes, int kind, const void *pc);

/* Memory is given back: whoever gets it next does not meet its last owner. */
void races_forget(const void *address, size_t bytes);

/* ---- of region.c ----------------------------------------------------------------- */

/* So many threads a region of this call has, if it does not say. */
void team_begin(int threads, int backwards);

/* Lets the next member go on; 0 if there is no other one that can. */
int team_yield(void);

#else

static inline void races_watch(reply_t *reply, int threads)
{
    (void)reply, (void)threads;
}

#endif
#endif
