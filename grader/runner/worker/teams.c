// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "teams.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MOMENT = 50000 };  // nanoseconds that a thread sleeps
enum { BETWEEN = 30 };    // microseconds to the next alarm
enum { ALARMS = 20 };     // in a region, at most

static void sleep_a_moment(void)
{
    const struct timespec moment = {.tv_nsec = MOMENT};
    nanosleep(&moment, NULL);
}

/* ---- scratch memory -------------------------------------------------------------- */

static atomic_int inside;  // threads that ask just now
static atomic_flag turn = ATOMIC_FLAG_INIT;
static atomic_int crowded;

void *scratch_in_turn(ctx_t *ctx, size_t bytes)
{
    if (atomic_fetch_add(&inside, 1) > 0) crowded = 1;
    while (atomic_flag_test_and_set(&turn)) sleep_a_moment();
    sleep_a_moment();
    void *block = scratch_guarded(ctx, bytes);
    atomic_flag_clear(&turn);
    atomic_fetch_sub(&inside, 1);
    return block;
}

int scratch_crowded(void)
{
    return atomic_exchange(&crowded, 0);
}

/* ---- the threads of a region ----------------------------------------------------- */

typedef void region_fn(void *data);
typedef void parallel_fn(region_fn *body, void *data, unsigned threads, unsigned flags);

static parallel_fn *parallel;  // that of the runtime
static int disturbing, regions;
static atomic_int left;  // alarms of this region

typedef struct {
    region_fn *body;
    void *data;
} region_t;

/* One alarm after a while, `left` times in all: a region comes to its end also where
 * each alarm is late.
 */
static void next_alarm(void)
{
    const struct itimerval once = {.it_value = {0, BETWEEN}};
    if (atomic_fetch_sub(&left, 1) > 0) setitimer(ITIMER_REAL, &once, NULL);
}

static void on_alarm(int number)
{
    (void)number;
    sleep_a_moment();
    next_alarm();
}

/* Whether this thread takes alarms. */
static void take_alarms(int taken)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(taken ? SIG_UNBLOCK : SIG_BLOCK, &alarms, NULL);
}

/* One thread's part of a region. An alarm goes to the first thread if that takes it: in
 * one region only the first one does, in the next all others. */
static void disturbed(void *given)
{
    const region_t *region = given;
    const int first = syscall(SYS_gettid) == getpid();
    take_alarms(first == (regions % 2));
    region->body(region->data);
    take_alarms(0);
}

static void disturb_region(region_t *region, unsigned threads, unsigned flags)
{
    const struct itimerval never = {0};
    regions++;
    left = ALARMS;
    next_alarm();
    parallel(disturbed, region, threads, flags);
    left = 0;
    setitimer(ITIMER_REAL, &never, NULL);
}

void teams_of(void *library)
{
    if (!parallel) parallel = (parallel_fn *)dlsym(library, "GOMP_parallel");
}

void teams_disturb(int wanted)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    if (wanted) sigaction(SIGALRM, &action, NULL);
    disturbing = wanted;
}

/* gcc calls this where a region begins. The program's symbols come before those of the
 * runtime, which is loaded later. */
void GOMP_parallel(region_fn *body, void *data, unsigned threads, unsigned flags);
void GOMP_parallel(region_fn *body, void *data, unsigned threads, unsigned flags)
{
    if (!parallel) {
        body(data);
    } else if (disturbing) {
        region_t region = {body, data};
        disturb_region(&region, threads, flags);
    } else {
        parallel(body, data, threads, flags);
    }
}
