// SPDX-License-Identifier: MIT
/* schedule.cpp - runs the threads of a block, one at a time, until all have ended
 *
 * A fiber takes one new thread after the other and runs it to its end. If a thread
 * must wait, it stays on its fiber, and another fiber runs. That fiber continues a
 * thread that no longer waits, or starts a new thread. If neither exists and threads
 * still wait, it is a deadlock. Then a table says which thread waits where.
 */
#include "schedule.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "block.h"
#include "memory.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cusim
{

uint64_t block_serial = 0;
Now now;

/* ---- small questions ------------------------------------------------------------- */

bool in_kernel()
{
    return now.running;
}

uint3 thread_index(int thread)
{
    return now.threads[(size_t)thread].index;
}

Place here(const char *what, Where where)
{
    if (!now.running) return {what, where};
    return place_of(*now.present, what, where);
}

Place here(const char *what, const void *code)
{
    Place place = here(what, Where{nullptr, 0});
    place.code = code;
    return place;
}

void need_kernel(const char *name, Where where)
{
    if (now.running) return;
    found(Level::error, "outside_kernel",
          text("%s was called by the host; it works only in a kernel started with "
               "<<<grid, block>>>",
               name),
          {{"called", where}});
    abort();
}

const Position &position()
{
    return now.present->position;
}

static bool on_stack(const Fiber *fiber, const volatile void *address)
{
    const volatile char *const byte = (const volatile char *)address;
    return byte >= fiber->bottom && byte < fiber->bottom + fiber->bytes;
}

bool is_local(const volatile void *address)
{
    if (on_stack(now.fiber, address)) return true;
    for (const Fiber *fiber : now.all) {  // what a lane hands to a collective
        if (on_stack(fiber, address)) return true;
    }
    return false;
}

bool past_stack(const void *address)
{
    const char *const byte = (const char *)address, *const bottom = now.fiber->bottom;
    return now.running && byte < bottom && byte >= bottom - 4096;
}

unsigned long switches()
{
    return now.switches;
}

static void fiber_main();

Fiber *idle_fiber()
{
    if (now.idle.empty()) {
        now.idle.push_back(fiber_new(fiber_main));
        now.all.push_back(now.idle.back());
    }
    Fiber *const fiber = now.idle.back();
    now.idle.pop_back();
    return fiber;
}

/* ---- the life of a thread -------------------------------------------------------- */

static void end_thread()
{
    Thread &self = *now.present;
    Warp &warp = now.warps[(size_t)self.position.warp];
    trace_thread_end(self.position.thread);
    self.state = State::ended;
    warp.ended |= 1u << self.position.lane;
    now.alive--;
    if (!warp.meetings.empty()) leave_meetings(self, warp);
    if ((warp.waiting | warp.ended) == warp.lanes && warp.asks) {
        answer_active_mask(self, warp);
    }
    if (now.barrier.arrived && now.barrier.arrived == now.alive) open_barrier();
}

void end_of_kernel()
{
    const Position &self = position();
    now.warps[(size_t)self.warp].passed |= 1u << self.lane;
}

static void fiber_main()
{
    fiber_entered(now.fiber);
    for (;;) {
        while (now.fresh < now.turns.size()) {
            become(now.threads[(size_t)now.turns[now.fresh++]]);
            now.body(now.argument);
            end_thread();
            if (now.first_ready < now.ready.size()) break;
        }
        leave(true);
    }
}

void end_launch()
{
    now.stopped = true;
    enter(&now.host);
    abort();  // a stopped fiber is never entered again
}

void trap(const char *sentence, Where where)
{
    found(Level::error, "trap", sentence, {here("stopped", where)});
    if (!now.running) abort();
    end_launch();
}

/* ---- a launch -------------------------------------------------------------------- */

static void read_order()
{
    const char *const wish = getenv("CUSIM_ORDER");
    now.order = Order::forward;
    now.random = 0;
    if (!wish) return;
    if (strcmp(wish, "reverse") == 0) now.order = Order::reverse;
    if (strncmp(wish, "random", 6) == 0) {
        now.order = Order::random;
        now.random = wish[6] == ':' ? strtoull(wish + 7, nullptr, 10) : 1;
    }
}

static void lay_out_block(dim3 block)
{
    const size_t count = (size_t)block.x * block.y * block.z;
    now.threads.assign(count, {});
    now.turns.resize(count);
    now.warps.assign((count + 31) / 32, {});
    for (size_t i = 0; i < count; i++) {
        Thread &thread = now.threads[i];
        const unsigned xy = block.x * block.y, linear = (unsigned)i;
        thread.index = {linear % block.x, linear % xy / block.x, linear / xy};
        const size_t size = std::min<size_t>(32, count - i / 32 * 32);
        const unsigned lanes = size == 32 ? ~0u : (1u << size) - 1;
        thread.position = {(int)i, (int)(i % 32), (int)(i / 32), lanes};
        now.turns[i] = (int)(now.order == Order::reverse ? count - 1 - i : i);
        now.warps[i / 32].lanes = lanes;
    }
}

static void run_block(uint64_t index, dim3 grid, size_t shared)
{
    blockIdx = {(unsigned)(index % grid.x), (unsigned)(index / grid.x % grid.y),
                (unsigned)(index / grid.x / grid.y)};
    block_serial++;
    shared_begin(shared);
    trace_block(index);
    for (Thread &thread : now.threads) thread.state = State::fresh;
    for (Warp &warp : now.warps) {
        warp.ended = warp.waiting = warp.passed = 0;
        warp.asks = 0;
        warp.meetings.clear();
    }
    if (now.order == Order::random) {
        for (size_t i = now.turns.size(); i > 1; i--) {
            std::swap(now.turns[i - 1], now.turns[random_number(i)]);
        }
    }
    now.barrier = {};
    now.alive = (int)now.threads.size();
    now.fresh = now.first_ready = 0;
    now.ready.clear();
    now.fiber = &now.host;
    enter(idle_fiber());
    if (!now.stopped) return;
    now.idle = now.all;
    for (Fiber *fiber : now.all) fiber_restart(fiber, fiber_main);
}

bool run_grid(const Config &config, void (*body)(const void *), const void *argument)
{
    const uint64_t blocks = (uint64_t)config.grid.x * config.grid.y * config.grid.z;
    read_order();
    lay_out_block(config.block);
    blockDim = config.block;
    gridDim = config.grid;
    now.body = body;
    now.argument = argument;
    now.stopped = false;
    now.running = true;
    // an odd stride that shares no factor with the count visits every block once
    uint64_t stride = 1, start = 0;
    if (now.order == Order::random && blocks > 1) {
        start = random_number(blocks);
        do {
            stride = 1 + random_number(blocks);
        } while (std::__gcd(stride, blocks) != 1);
    }
    for (uint64_t i = 0; i < blocks; i++) {
        if (now.stopped) break;
        const uint64_t turn = (start + i * stride) % blocks;
        run_block(now.order == Order::reverse ? blocks - 1 - i : turn, config.grid,
                  config.shared);
    }
    now.running = false;
    return !now.stopped;
}

}  // namespace cusim
