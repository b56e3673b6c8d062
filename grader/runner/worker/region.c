// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "region.h"

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

#include "races.h"

enum { GOES, WAITS, LOCKED_OUT, ENDED };  // at a barrier it waits

static struct {
    region_fn *body;
    void *data;
    loop_t loop;  // of a region that is a loop
    unsigned sections;
    int size, backwards, usual;
    long singles;  // that some thread has come to
    struct {
        pthread_t thread;
        sem_t turn;
        int state, started;
    } member[MOST_MEMBERS];
} team;

static _Thread_local place_t *place;
static place_t serial = {.size = 1};  // outside of regions

place_t *here(void)
{
    return place ? place : &serial;
}

/* ---- whose turn it is ------------------------------------------------------------ */

/* The member at a position of the order in which they run. */
static int at_position(int position)
{
    return team.backwards ? team.size - 1 - position : position;
}

/* The next that can go on, the one with the turn last of all; -1 if none can. */
static int next_after(int number)
{
    const int position = at_position(number);  // its own inverse
    for (int i = 1; i <= team.size; i++) {
        const int other = at_position((position + i) % team.size);
        if (team.member[other].state == GOES) return other;
    }
    return -1;
}

static void hand_over(int from, int to)
{
    if (from == to) return;
    sem_post(&team.member[to].turn);
    while (sem_wait(&team.member[from].turn)) continue;
}

/* Nothing more can be learnt where threads wait for each other. */
static void stuck(void)
{
    static const char says[] = "the threads of a region wait for each other\n";
    if (write(STDERR_FILENO, says, sizeof says - 1) < 0) _exit(2);
    _exit(1);
}

/* Where nobody can go on all are at a barrier, or have ended: those at it go on. */
static int open_barrier(void)
{
    int first = -1;
    for (int i = team.size - 1; i >= 0; i--) {
        const int number = at_position(i);
        if (team.member[number].state == LOCKED_OUT) stuck();
        if (team.member[number].state != WAITS) continue;
        team.member[number].state = GOES;
        first = number;
    }
    if (first >= 0) races_barrier();
    return first;
}

/* A member waits, or has ended: the next one goes on. */
static void leave_turn(int number, int state)
{
    team.member[number].state = state;
    int next = next_after(number);
    if (next < 0) next = open_barrier();
    if (next < 0) next = 0;  // all have ended: the first one goes on behind the region
    if (state == ENDED && number != 0) {
        sem_post(&team.member[next].turn);
    } else {
        hand_over(number, next);
    }
}

int team_yield(void)
{
    if (!place || team.size == 1) return 0;
    const int number = place->turn, next = next_after(number);
    hand_over(number, next);
    return next != number;
}

void region_wait_for_lock(void)
{
    const int number = here()->turn;
    team.member[number].state = LOCKED_OUT;
    const int next = place && team.size > 1 ? next_after(number) : -1;
    if (next < 0) stuck();
    hand_over(number, next);
}

void region_wake(void)
{
    for (int i = 0; i < team.size; i++) {
        if (team.member[i].state == LOCKED_OUT) team.member[i].state = GOES;
    }
}

/* ---- regions --------------------------------------------------------------------- */

void team_begin(int threads, int backwards)
{
    team.usual = threads;
    team.backwards = backwards;
}

static void take_part(int number)
{
    place_t mine = {.number = number,
                    .turn = number,
                    .size = team.size,
                    .loop = team.loop,
                    .section = (unsigned)number + 1,
                    .sections = team.sections};
    mine.loop.next = (count_t)number;
    place = &mine;
    races_enter(number);
    team.body(team.data);
    races_leave();
    place = NULL;
}

static void *serve(void *given)
{
    const int number = (int)(intptr_t)given;
    for (;;) {
        while (sem_wait(&team.member[number].turn)) continue;
        take_part(number);
        leave_turn(number, ENDED);
    }
    return NULL;
}

/* Threads live on from region to region, as do their variables. */
static int has_thread(int number)
{
    if (team.member[number].started) return 1;
    sem_init(&team.member[number].turn, 0, 0);
    void *const given = (void *)(intptr_t)number;
    if (number && pthread_create(&team.member[number].thread, NULL, serve, given)) {
        return 0;
    }
    team.member[number].started = 1;
    return 1;
}

static int size_of(unsigned threads)
{
    const int wanted = threads ? (int)threads : team.usual;
    int size = 0;
    while (size < wanted && size < MOST_MEMBERS && has_thread(size)) size++;
    return size ? size : 1;
}

void region_run(region_fn *body, void *data, unsigned threads, loop_t loop,
                unsigned sections)
{
    const int size = place ? 1 : size_of(threads);
    if (size == 1) {
        place_t *const outer = place;
        place_t mine = {.size = 1, .loop = loop, .section = 1, .sections = sections};
        mine.turn = outer ? outer->turn : 0;
        place = &mine;
        body(data);
        place = outer;
        return;
    }
    team.body = body, team.data = data, team.size = size;
    team.loop = loop, team.sections = sections, team.singles = 0;
    for (int i = 0; i < size; i++) team.member[i].state = GOES;
    races_fork(size);
    hand_over(0, at_position(0));
    take_part(0);
    leave_turn(0, ENDED);
    team.size = 1;
}

void region_barrier(void)
{
    if (here()->size > 1) leave_turn(here()->turn, WAITS);
}

int region_is_first(void)
{
    if (here()->size == 1) return 1;
    if (++place->singles <= team.singles) return 0;
    team.singles = place->singles;
    return 1;
}

int region_usual(int threads)
{
    if (threads > 0) team.usual = threads;
    return team.usual;
}
