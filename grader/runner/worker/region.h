// SPDX-License-Identifier: MIT
/* region.h - the threads of an OpenMP region, for `worker-races`
 *
 * They are threads of this process, so each has its own variables and its own stack.
 * But only one of them runs. If it waits or ends, the next one runs. A region within a
 * region has one thread.
 */
#ifndef CONVLAB_REGION_H
#define CONVLAB_REGION_H

typedef void region_fn(void *data);
typedef unsigned long long count_t;

/* A loop's iterations in chunks. Chunk k belongs to the member whose number is k modulo
 * their count. */
typedef struct {
    count_t start, step, iterations, chunk;
    count_t next;  // chunk of this member
} loop_t;

/* What one thread knows of the region that it is in. */
typedef struct {
    int number, size;
    int turn;  // the member's number, also in a region within the region
    loop_t loop;
    unsigned section, sections;  // the next one that is its own; how many there are
    long singles;                // `single` constructs that it has come to
} place_t;

/* Of this thread, also outside of regions. */
place_t *here(void);

/* A region, from its begin to its end: of so many threads, or as many as usual for 0.
 * Perhaps it is a loop, or has sections. */
void region_run(region_fn *body, void *data, unsigned threads, loop_t loop,
                unsigned sections);

/* This member waits until all do, or have ended. */
void region_barrier(void);

/* This member waits until a lock is given back; one has been. */
void region_wait_for_lock(void);
void region_wake(void);

/* Whether this member is the first one at a `single`. */
int region_is_first(void);

/* So many threads a region has where it does not say; above 0: from now on. */
int region_usual(int threads);

#endif
