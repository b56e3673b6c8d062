// SPDX-License-Identifier: MIT
/* trace.h - every access of a kernel to memory, for the race check and the counts
 *
 * With -fsanitize=thread, a compiler calls __tsan_read4 or a similar function before
 * each access. cusim does not link the library of this option: trace.cpp defines these
 * functions.
 */
#ifndef CUSIM_TRACE_H
#define CUSIM_TRACE_H

#include "schedule.h"

namespace cusim
{

enum class Space { global, shared };
enum class Op { load, store, atomic };

struct Access {
    const volatile char *address;
    size_t bytes;  // 1 to 16; larger ones come in parts
    Space space;
    Op op;
    const void *code;  // within the instruction
    const Position *by;
    uint64_t turn;  // of the loops around it: see Loop in core.h
};

/* Turns the race check and the counts on or off from the next launch; first both on. */
void watch(bool races, bool counts);

/* races.cpp */
void race_launch();
void race_launch_end();
void race_block();
void race_block_sync();
void race_warp_sync(int warp, unsigned lanes);
void race_fence();
void race_atomic(const volatile void *address);
void race_access(const Access &access);

/* counts.cpp */
void count_launch(const char *name);
void count_launch_end();
void count_block(size_t threads);
void count_block_sync();
void count_warp_sync(int warp, unsigned lanes);
void count_access(const Access &access);

}  // namespace cusim

#endif
