// SPDX-License-Identifier: MIT
/* openmp.c - the functions that gcc calls for OpenMP, for `worker-races`
 *
 * OpenMP does not say which thread gets which work. Here the threads take chunks of a
 * loop and sections in turns, so that every thread has work. If a rung needs a function
 * that is not here (tasks, ordered loops, ...), team_races.py does not load it.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "races.h"
#include "region.h"
#include "teams.h"

/* ---- regions --------------------------------------------------------------------- */

void GOMP_parallel(region_fn *body, void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    region_run(body, data, threads, (loop_t){0}, 0);
}

void GOMP_parallel_sections(region_fn *body, void *data, unsigned threads,
                            unsigned sections, unsigned flags)
{
    (void)flags;
    region_run(body, data, threads, (loop_t){0}, sections);
}

/* ---- loops ----------------------------------------------------------------------- */

static loop_t upwards_or_down(bool up, count_t start, count_t end, count_t step,
                              count_t chunk)
{
    const count_t size = up ? step : -step;
    const count_t extent = up ? end - start : start - end;
    const count_t iterations = extent / size + (extent % size != 0);
    const count_t share = (iterations + MOST_MEMBERS - 1) / MOST_MEMBERS;
    return (loop_t){start, step, iterations, chunk ? chunk : share + !share, 0};
}

static loop_t signed_loop(long start, long end, long step, long chunk)
{
    const bool up = step > 0, empty = up ? start >= end : start <= end;
    return upwards_or_down(up, (count_t)start, (count_t)(empty ? start : end),
                           (count_t)step, (count_t)chunk);
}

/* The member's next chunk; false if there is none. */
static bool next_chunk(count_t *first, count_t *end)
{
    loop_t *const loop = &here()->loop;
    const count_t begin = loop->next * loop->chunk;
    if (begin >= loop->iterations) return false;
    const count_t left = loop->iterations - begin;
    const count_t count = left < loop->chunk ? left : loop->chunk;
    *first = loop->start + begin * loop->step;
    *end = *first + count * loop->step;
    loop->next += (count_t)here()->size;
    return true;
}

static void begin_loop(loop_t loop)
{
    here()->loop = loop;
    here()->loop.next = (count_t)here()->number;
}

bool GOMP_loop_dynamic_next(long *first, long *end)
{
    count_t from = 0, to = 0;
    if (!next_chunk(&from, &to)) return false;
    *first = (long)from, *end = (long)to;
    return true;
}

bool GOMP_loop_dynamic_start(long start, long stop, long step, long chunk, long *first,
                             long *end)
{
    begin_loop(signed_loop(start, stop, step, chunk));
    return GOMP_loop_dynamic_next(first, end);
}

bool GOMP_loop_runtime_start(long start, long stop, long step, long *first, long *end)
{
    return GOMP_loop_dynamic_start(start, stop, step, 1, first, end);
}

bool GOMP_loop_ull_dynamic_next(count_t *first, count_t *end)
{
    return next_chunk(first, end);
}

bool GOMP_loop_ull_dynamic_start(bool up, count_t start, count_t stop, count_t step,
                                 count_t chunk, count_t *first, count_t *end)
{
    const bool empty = up ? start >= stop : start <= stop;
    begin_loop(upwards_or_down(up, start, empty ? start : stop, step, chunk));
    return next_chunk(first, end);
}

bool GOMP_loop_ull_runtime_start(bool up, count_t start, count_t stop, count_t step,
                                 count_t *first, count_t *end)
{
    return GOMP_loop_ull_dynamic_start(up, start, stop, step, 1, first, end);
}

void GOMP_parallel_loop_dynamic(region_fn *body, void *data, unsigned threads,
                                long start, long end, long step, long chunk,
                                unsigned flags)
{
    (void)flags;
    region_run(body, data, threads, signed_loop(start, end, step, chunk), 0);
}

void GOMP_parallel_loop_runtime(region_fn *body, void *data, unsigned threads,
                                long start, long end, long step, unsigned flags)
{
    GOMP_parallel_loop_dynamic(body, data, threads, start, end, step, 1, flags);
}

/* The other schedules have the same functions under other names. */
#define SAME(name, as)                                                                 \
    extern __typeof__(as) name;                                                        \
    extern __typeof__(as) name __attribute__((alias(#as)))
#define SCHEDULE(kind, as)                                                             \
    SAME(GOMP_loop_##kind##_start, GOMP_loop_##as##_start);                            \
    SAME(GOMP_loop_##kind##_next, GOMP_loop_dynamic_next);                             \
    SAME(GOMP_loop_ull_##kind##_start, GOMP_loop_ull_##as##_start);                    \
    SAME(GOMP_loop_ull_##kind##_next, GOMP_loop_ull_dynamic_next);                     \
    SAME(GOMP_parallel_loop_##kind, GOMP_parallel_loop_##as)
SCHEDULE(static, dynamic);
SCHEDULE(guided, dynamic);
SCHEDULE(nonmonotonic_dynamic, dynamic);
SCHEDULE(nonmonotonic_guided, dynamic);
SCHEDULE(nonmonotonic_runtime, runtime);
SCHEDULE(maybe_nonmonotonic_runtime, runtime);
SAME(GOMP_loop_runtime_next, GOMP_loop_dynamic_next);
SAME(GOMP_loop_ull_runtime_next, GOMP_loop_ull_dynamic_next);

/* ---- sections, single, barrier --------------------------------------------------- */

unsigned GOMP_sections_next(void)
{
    place_t *const mine = here();
    const unsigned section = mine->section;
    if (section > mine->sections) return 0;
    mine->section += (unsigned)mine->size;
    return section;
}

unsigned GOMP_sections_start(unsigned count)
{
    here()->sections = count;
    here()->section = (unsigned)here()->number + 1;
    return GOMP_sections_next();
}

void GOMP_barrier(void)
{
    region_barrier();
}

void GOMP_loop_end_nowait(void)
{
}

SAME(GOMP_loop_end, GOMP_barrier);
SAME(GOMP_sections_end, GOMP_barrier);
SAME(GOMP_sections_end_nowait, GOMP_loop_end_nowait);

bool GOMP_single_start(void)
{
    return region_is_first();
}

static void *copied;  // by the thread of a `single copyprivate`

void *GOMP_single_copy_start(void)
{
    if (region_is_first()) return NULL;
    region_barrier();
    return copied;
}

void GOMP_single_copy_end(void *data)
{
    if (here()->size > 1) copied = data;
    region_barrier();
}

/* ---- locks ----------------------------------------------------------------------- */

enum { MOST_HELD = 64 };
static const void *held[MOST_HELD];

static int is_held(const void *lock)
{
    for (int i = 0; i < MOST_HELD; i++) {
        if (held[i] == lock) return 1;
    }
    return 0;
}

static void replace(const void *lock, const void *by)
{
    for (int i = 0; i < MOST_HELD; i++) {
        if (held[i] != lock) continue;
        held[i] = by;
        return;
    }
}

static void enter(const void *lock)
{
    while (is_held(lock)) region_wait_for_lock();
    replace(NULL, lock);
    races_acquire(lock);
}

static void leave(const void *lock)
{
    races_release(lock);
    replace(lock, NULL);
    region_wake();
}

static char critical, atomic;  // the one without a name; what no instruction can do

void GOMP_critical_start(void)
{
    enter(&critical);
}

void GOMP_critical_end(void)
{
    leave(&critical);
}

void GOMP_critical_name_start(void **lock)
{
    enter(lock);
}

void GOMP_critical_name_end(void **lock)
{
    leave(lock);
}

void GOMP_atomic_start(void)
{
    enter(&atomic);
}

void GOMP_atomic_end(void)
{
    leave(&atomic);
}

void omp_set_lock(void *lock)
{
    enter(lock);
}

int omp_test_lock(void *lock)
{
    if (is_held(lock)) {
        team_yield();  // who has it may give it back
        return 0;
    }
    enter(lock);
    return 1;
}

SAME(omp_unset_lock, GOMP_critical_name_end);

void omp_init_lock(void *lock)
{
    (void)lock;
}

SAME(omp_destroy_lock, omp_init_lock);

/* ---- questions ------------------------------------------------------------------- */

int omp_get_thread_num(void)
{
    return here()->number;
}

int omp_get_num_threads(void)
{
    return here()->size;
}

int omp_in_parallel(void)
{
    return here()->size > 1;
}

int omp_get_max_threads(void)
{
    return region_usual(0);
}

SAME(omp_get_num_procs, omp_get_max_threads);

void omp_set_num_threads(int threads)
{
    region_usual(threads);
}

void omp_set_dynamic(int wanted)
{
    (void)wanted;
}

SAME(omp_set_nested, omp_set_dynamic);

double omp_get_wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- teams.h --------------------------------------------------------------------- */

/* A context serves one thread at a time: a request is as if it were written to. */
static char asked;

void *scratch_in_turn(ctx_t *ctx, size_t bytes)
{
    races_access(&asked, 1, WRITE | ASKS, __builtin_return_address(0));
    return scratch_guarded(ctx, bytes);
}

int scratch_crowded(void)
{
    return 0;  // the report tells
}

void teams_of(void *library)
{
    (void)library;
}

void teams_disturb(int wanted)
{
    (void)wanted;
}
