// SPDX-License-Identifier: MIT
/* block.h - the threads and warps of the running block
 *
 * schedule.cpp, barrier.cpp and trace.cpp share these data.
 */
#ifndef CUSIM_BLOCK_H
#define CUSIM_BLOCK_H

#include <cstring>
#include <utility>
#include <vector>

#include "fiber.h"
#include "schedule.h"

namespace cusim
{

enum class State { fresh, running, at_barrier, in_collective, asks_mask, ended };

struct Thread {
    uint3 index;
    Position position;
    State state;
    Fiber *fiber;      // where it waits
    const char *name;  // of what it waits in
    Where where;
    void *mine;            // handed to the collective
    unsigned active_mask;  // the answer to active_mask()
};

/* A collective that some lanes of one warp have called, and wait for the others. */
struct Meeting {
    unsigned mask, arrived;
    const char *name;
    void (*finish)(void *const lane[32], unsigned mask);

    bool is(unsigned other_mask, const char *other_name) const
    {
        return mask == other_mask && strcmp(name, other_name) == 0;
    }
};

struct Warp {
    unsigned lanes, ended, waiting;
    unsigned passed;  // came to the end of the kernel's text, not to a `return`
    int asks;         // lanes that wait for active_mask()
    std::vector<Meeting> meetings;
};

struct Barrier {
    int arrived, sum;
    Where first, other;  // lines that threads came from; other.file is NULL if one
    int first_thread, other_thread;
    int gone;  // threads that had returned when it last opened
    unsigned epoch;
    int result[2];  // of even and odd epochs: a slow thread may still read the last one
};

enum class Order { forward, reverse, random };

struct Now {
    bool running, stopped;
    Thread *present;
    Fiber *fiber;  // the present one
    Fiber host;
    std::vector<Fiber *> all, idle;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::vector<int> turns, ready;  // fresh threads in their order; whose wait is over
    size_t fresh, first_ready;
    int alive;
    unsigned long switches;  // threads that got their turn, of all launches
    Barrier barrier;
    void (*body)(const void *);
    const void *argument;
    Order order;
    uint64_t random;
};
extern __attribute__((visibility("hidden"))) Now now;

/* ---- small questions ------------------------------------------------------------- */

inline Place place_of(const Thread &thread, const char *what, Where where)
{
    return {what, where, nullptr, true, blockIdx, thread.index};
}

inline Thread &lane_of(const Thread &thread, int lane)
{
    return now.threads[(size_t)(thread.position.warp * 32 + lane)];
}

inline bool same_line(Where a, Where b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* Returns a random number below `bound`. splitmix64 accepts any seed, also 0. */
inline uint64_t random_number(uint64_t bound)
{
    uint64_t z = now.random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % bound;
}

/* If host code calls `name`, reports a finding and ends the process. */
void need_kernel(const char *name, Where where);

/* ---- whose turn it is ------------------------------------------------------------ */

inline void become(Thread &thread)
{
    now.present = &thread;
    now.switches++;
    thread.state = State::running;
    threadIdx = thread.index;
    trace_thread(thread.position.thread);
}

inline void make_ready(Thread &thread)
{
    now.warps[(size_t)thread.position.warp].waiting &= ~(1u << thread.position.lane);
    now.ready.push_back(thread.position.thread);
}

/* Returns the number of the next thread that may go on, or -1 if there is none. */
inline int take_ready()
{
    if (now.first_ready == now.ready.size()) {
        now.ready.clear();
        now.first_ready = 0;
        return -1;
    }
    if (now.order == Order::random) {
        const size_t left = now.ready.size() - now.first_ready;
        std::swap(now.ready[now.first_ready],
                  now.ready[now.first_ready + random_number(left)]);
    }
    return now.ready[now.first_ready++];
}

/* Returns a fiber that runs no thread, for a new thread. */
Fiber *idle_fiber();

/* Reports where threads wait, if no thread can run but some have not ended. */
void report_deadlock();

/* A thread has ended: reports collectives whose mask still names this lane. */
void leave_meetings(Thread &self, Warp &warp);

/* Returns from __activemask in all lanes that called it, when all lanes wait. */
void answer_active_mask(const Thread &thread, Warp &warp);

/* Lets all threads go on: every thread that has not ended waits at the barrier. */
void open_barrier();

/* The functions below are inlined into barrier() and together(). Each stack frame of a
 * waiting thread would need one more cache line for each thread of the block. */

__attribute__((always_inline)) inline void enter(Fiber *to)
{
    Fiber *const from = now.fiber;
    now.fiber = to;
    fiber_switch(from, to);
}

/* Switches from the running fiber to a thread that can run. The thread of the running
 * fiber waits, or, if `done`, has ended. */
__attribute__((always_inline)) inline void leave(bool done)
{
    const bool fresh_first =
        now.order == Order::random && now.fresh < now.turns.size() && random_number(2);
    const int thread = fresh_first ? -1 : take_ready();
    Fiber *const self = now.fiber;
    if (thread >= 0) {
        if (done) now.idle.push_back(self);
        become(now.threads[(size_t)thread]);
        if (now.present->fiber != self) enter(now.present->fiber);
    } else if (now.fresh < now.turns.size()) {
        if (!done) enter(idle_fiber());  // a done fiber takes the fresh thread itself
    } else {
        if (done) now.idle.push_back(self);
        if (now.alive) {
            report_deadlock();
            now.stopped = true;
        }
        enter(&now.host);
    }
}

__attribute__((always_inline)) inline void wait(State state, const char *name,
                                                Where where)
{
    Thread &self = *now.present;
    Warp &warp = now.warps[(size_t)self.position.warp];
    self.state = state;
    self.fiber = now.fiber;
    self.name = name;
    self.where = where;
    warp.waiting |= 1u << self.position.lane;
    if ((warp.waiting | warp.ended) == warp.lanes && warp.asks) {
        answer_active_mask(self, warp);
    }
    leave(false);
}

}  // namespace cusim

#endif
