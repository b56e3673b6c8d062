// SPDX-License-Identifier: MIT
/* barrier.cpp - barriers and collectives of a warp, where threads wait for each other
 *
 * The last thread that arrives lets all threads continue. Two errors are reported
 * here: a barrier that can never be complete, and threads of one block at different
 * barriers.
 */
#include "block.h"

namespace cusim
{

/* ---- warps ----------------------------------------------------------------------- */

/* All lanes of a meeting are there: the last one works for all. */
static void hold(const Thread &last, Warp &warp, size_t index)
{
    const Meeting meeting = warp.meetings[index];
    warp.meetings.erase(warp.meetings.begin() + (ptrdiff_t)index);
    void *mine[32] = {};
    for (int lane = 0; lane < 32; lane++) {
        if (!(meeting.mask >> lane & 1)) continue;
        Thread &other = lane_of(last, lane);
        mine[lane] = other.mine;
        if (&other != &last) make_ready(other);
    }
    trace_warp_sync(last.position.warp, meeting.mask);
    const Unseen unseen;
    if (meeting.finish) meeting.finish(mine, meeting.mask);
}

/* Lanes that asked who is here are answered once every lane of the warp waits. */
void answer_active_mask(const Thread &thread, Warp &warp)
{
    unsigned mask = 0;
    Where where = {nullptr, 0};
    for (int lane = 0; lane < 32; lane++) {
        if (!(warp.waiting >> lane & 1)) continue;
        const Thread &other = lane_of(thread, lane);
        if (other.state != State::asks_mask) continue;
        if (!where.file) where = other.where;
        if (same_line(other.where, where)) {
            mask |= 1u << lane;
        }
    }
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        lane_of(thread, lane).active_mask = mask;
        make_ready(lane_of(thread, lane));
    }
}

unsigned active_mask(Where where)
{
    need_kernel("__activemask", where);
    Warp &warp = now.warps[(size_t)now.present->position.warp];
    warp.asks++;
    wait(State::asks_mask, "__activemask", where);
    warp.asks--;
    return now.present->active_mask;
}

/* The mask without lanes that do not exist; lanes that have left are an error. */
static unsigned present_lanes(const Warp &warp, unsigned mask, const char *name,
                              Where where)
{
    const int lane = now.present->position.lane;
    if (!(mask >> lane & 1)) {
        found(Level::error, "wrong_mask",
              text("lane %d calls %s with mask 0x%08x, which does not name lane %d "
                   "itself. Every lane that makes the call must be in the mask",
                   lane, name, mask, lane),
              {here("called", where)});
        end_launch();
    }
    mask &= warp.lanes;
    if (mask & warp.ended) {
        found(
            Level::error, "wrong_mask",
            text(
                "%s waits for the lanes 0x%08x, but the lanes 0x%08x of them have left "
                "the kernel. Take them out of the mask, or let them stay",
                name, mask, mask & warp.ended),
            {here("called", where)});
    }
    return mask & ~warp.ended;
}

void absent_lane(int from, unsigned mask, const char *name, Where where)
{
    const unsigned lanes = position().warp_lanes;
    found(Level::error, "wrong_mask",
          text("%s with mask 0x%08x reads lane %d, but this warp of the block has only "
               "%d lanes. Read only from these, and name them in the mask: 0x%08x",
               name, mask, from, __builtin_popcount(lanes), lanes),
          {here("called", where)});
}

void together(unsigned mask, void *mine, void (*finish)(void *const lane[32], unsigned),
              const char *name, Where where)
{
    need_kernel(name, where);
    Thread &self = *now.present;
    Warp &warp = now.warps[(size_t)self.position.warp];
    const unsigned bit = 1u << self.position.lane;
    mask = present_lanes(warp, mask, name, where);
    self.mine = mine;
    size_t index = 0;
    while (index < warp.meetings.size() && !warp.meetings[index].is(mask, name))
        index++;
    if (index == warp.meetings.size()) warp.meetings.push_back({mask, 0, name, finish});
    Meeting &meeting = warp.meetings[index];
    meeting.arrived |= bit;
    if (meeting.arrived == meeting.mask) {
        hold(self, warp, index);
    } else {
        wait(State::in_collective, name, where);
    }
}

/* ---- the barrier ----------------------------------------------------------------- */

__attribute__((noinline)) static void report_barrier()
{
    const Barrier &barrier = now.barrier;
    if (barrier.other.file) {
        found(Level::error, "divergent_barrier",
              "threads of one block wait at different __syncthreads; every thread of "
              "the block must reach the same __syncthreads",
              {place_of(now.threads[(size_t)barrier.first_thread], "waits",
                        barrier.first),
               place_of(now.threads[(size_t)barrier.other_thread], "waits",
                        barrier.other)});
    }
    if (now.alive == (int)now.threads.size()) return;
    for (const Warp &warp : now.warps) {
        if (!warp.ended || warp.ended == warp.lanes) continue;
        const Place waits =
            place_of(now.threads[(size_t)barrier.first_thread], "waits", barrier.first);
        if (warp.ended & warp.passed) {
            found(
                Level::error, "divergent_barrier",
                "some threads of a warp skipped this barrier and left the kernel, but "
                "others wait at it. Every thread of the block must reach it: move it "
                "out of the condition, and leave only the work inside",
                {waits});
            continue;
        }
        found(Level::warning, "early_exit",
              "some threads of a warp have left the kernel while others wait at this "
              "barrier. Let all threads reach the barrier, and put only the work into "
              "a condition",
              {waits});
    }
}

/* Everybody who still lives has come. */
void open_barrier()
{
    Barrier &barrier = now.barrier;
    report_barrier();
    barrier.result[barrier.epoch & 1] = barrier.sum;
    barrier.epoch++;
    barrier.gone = (int)now.threads.size() - now.alive;
    barrier.arrived = barrier.sum = 0;
    barrier.first = barrier.other = {nullptr, 0};
    for (Thread &thread : now.threads) {
        if (thread.state == State::at_barrier) make_ready(thread);
    }
    trace_block_sync();
}

int barrier(int predicate, const char *name, Where where)
{
    need_kernel(name, where);
    Barrier &barrier = now.barrier;
    Thread &self = *now.present;
    const unsigned epoch = barrier.epoch;
    if (!barrier.arrived) {
        barrier.first = where;
        barrier.first_thread = self.position.thread;
    } else if (!same_line(where, barrier.first)) {
        barrier.other = where;
        barrier.other_thread = self.position.thread;
    }
    barrier.arrived++;
    barrier.sum += predicate != 0;
    if (barrier.arrived == now.alive) {
        open_barrier();
    } else {
        wait(State::at_barrier, name, where);
    }
    return barrier.result[epoch & 1];
}

/* A lane that leaves is missed by meetings that named it. */
void leave_meetings(Thread &self, Warp &warp)
{
    const unsigned bit = 1u << self.position.lane;
    for (size_t index = 0; index < warp.meetings.size(); index++) {
        Meeting &meeting = warp.meetings[index];
        if (!(meeting.mask & bit)) continue;
        const int waiting = __builtin_ctz(meeting.arrived);
        const Thread &other = lane_of(self, waiting);
        found(Level::error, "wrong_mask",
              text("%s with mask 0x%08x waits for lane %d, which has left the kernel. "
                   "Take it out of the mask, or let it stay",
                   meeting.name, meeting.mask, self.position.lane),
              {place_of(other, "waits", other.where)});
        meeting.mask &= ~bit;
        if (meeting.arrived == meeting.mask) {
            hold(self, warp, index);
            index--;
        }
    }
}

/* ---- nobody will ever come ------------------------------------------------------- */

/* A lane that waits in a meeting. */
static Place waiting_lane(const Warp &warp, const Meeting &meeting)
{
    const size_t first = (size_t)(&warp - now.warps.data()) * 32;
    const Thread &thread = now.threads[first + (size_t)__builtin_ctz(meeting.arrived)];
    return place_of(thread, meeting.name, thread.where);
}

/* Two meetings of a warp that each wait for a lane of the other. */
static bool report_divergent_collective()
{
    for (const Warp &warp : now.warps) {
        for (const Meeting &one : warp.meetings) {
            for (const Meeting &other : warp.meetings) {
                if (&one >= &other || !(one.mask & other.arrived) ||
                    !(other.mask & one.arrived)) {
                    continue;
                }
                found(
                    Level::error, "divergent_collective",
                    text(
                        "lanes of one warp wait for each other in different calls, %s "
                        "with mask 0x%08x and %s with mask 0x%08x. All lanes of a mask "
                        "must make the same call with the same mask",
                        one.name, one.mask, other.name, other.mask),
                    {waiting_lane(warp, one), waiting_lane(warp, other)});
                return true;
            }
        }
    }
    return false;
}

void report_deadlock()
{
    if (report_divergent_collective()) return;
    std::vector<Place> places;
    for (const Thread &thread : now.threads) {
        if (thread.state == State::ended) continue;
        const Place place = place_of(thread, thread.name, thread.where);
        size_t same = 0;
        for (const Place &other : places) {
            same += other.where.line == place.where.line && other.what == place.what;
        }
        if (same < 2 && places.size() < 16) places.push_back(place);
    }
    found(
        Level::error, "deadlock",
        text("%d of %zu threads of the block wait for ever. The threads they wait for "
             "have ended or wait somewhere else",
             now.alive, now.threads.size()),
        places.data(), places.size());
}

}  // namespace cusim
