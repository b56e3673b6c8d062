// SPDX-License-Identifier: MIT
/* fiber.h - stacks that can be left and entered again
 *
 * A fiber runs an endless function of the scheduler. If a thread of a kernel must
 * wait, it leaves its fiber. The fiber keeps the stack until another fiber enters it
 * again. Only block.h and schedule.cpp use this.
 */
#ifndef CUSIM_FIBER_H
#define CUSIM_FIBER_H

#include <cstddef>

#if defined(__x86_64__) || defined(__aarch64__)
#define CUSIM_ASSEMBLY  // else ucontext, which is slower by a system call a switch
#ifndef CUSIM_ASAN
#define CUSIM_FAST_SWITCH  // nobody has to be told of a switch
#endif
#endif

namespace cusim
{

struct Fiber {
    void *sp = nullptr;      // where it was left
    char *bottom = nullptr;  // lowest byte of its stack; a guard page lies below
    size_t bytes = 0;
    void *fake = nullptr;  // AddressSanitizer's own part of the stack
    int number = 0;
};

/* Returns a new fiber that will call `entry`, which must never return. Aborts the
 * process if there is no memory for a stack. */
Fiber *fiber_new(void (*entry)());

/* Resets the fiber: when it is entered again, it calls `entry` from the start. */
void fiber_restart(Fiber *fiber, void (*entry)());

/* Leaves `from`, the running fiber, and enters `to`. */
void fiber_switch(Fiber *from, Fiber *to);

/* `entry` calls this first: tells the sanitizer that the switch has happened. */
void fiber_entered(Fiber *self);

#ifdef CUSIM_FAST_SWITCH
extern "C" void cusim_switch(void **save, void *load);  // switch_*.S

inline void fiber_switch(Fiber *from, Fiber *to)
{
    cusim_switch(&from->sp, to->sp);
}

inline void fiber_entered(Fiber *)
{
}
#endif

}  // namespace cusim

#endif
