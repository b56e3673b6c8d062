// SPDX-License-Identifier: MIT
#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifdef CUSIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef CUSIM_ASSEMBLY
#include <ucontext.h>
#endif

namespace cusim
{

#ifdef CUSIM_ASAN
enum : size_t { STACK = 512 << 10 };  // -O0 or -O1 and redzones around every local
#else
enum : size_t { STACK = 256 << 10 };
#endif
enum : size_t { PAGE = 4096, LINE = 64, COLOURS = 29 };

/* Two stacks at the same place of a page share their cache sets; 29 places do not. */
static char *top_of(const Fiber *fiber)
{
    return fiber->bottom + fiber->bytes - (size_t)fiber->number % COLOURS * LINE;
}

#ifdef CUSIM_ASSEMBLY

#if defined(__x86_64__)
enum { SAVED_WORDS = 6, ENTRY_WORD = 6 };  // rbp rbx r12..r15, then where to go
#else
enum { SAVED_WORDS = 20, ENTRY_WORD = 11 };  // x19..x30 (x30 is where to go), d8..d15
#endif

void fiber_restart(Fiber *fiber, void (*entry)())
{
    // after the words are taken off, the stack is as a call of `entry` would leave it
    uintptr_t *top = (uintptr_t *)((uintptr_t)top_of(fiber) & ~(uintptr_t)63);
    top -= 8;
    uintptr_t *sp = top - SAVED_WORDS - (SAVED_WORDS == ENTRY_WORD ? 2 : 0);
    for (int word = 0; word < SAVED_WORDS; word++) sp[word] = 0;
    sp[ENTRY_WORD] = (uintptr_t)entry;
    fiber->sp = sp;
#ifdef CUSIM_ASAN
    __asan_unpoison_memory_region(fiber->bottom, fiber->bytes);
    fiber->fake = nullptr;
#endif
}

#ifndef CUSIM_FAST_SWITCH
extern "C" void cusim_switch(void **save, void *load);

static void jump(Fiber *from, Fiber *to)
{
    cusim_switch(&from->sp, to->sp);
}
#endif

#else

static void (*ucontext_entry)();

static void ucontext_start()
{
    ucontext_entry();
}

void fiber_restart(Fiber *fiber, void (*entry)())
{
    if (!fiber->sp) fiber->sp = new ucontext_t;
    ucontext_t *context = (ucontext_t *)fiber->sp;
    getcontext(context);
    context->uc_stack.ss_sp = fiber->bottom;
    context->uc_stack.ss_size = fiber->bytes;
    context->uc_link = nullptr;
    ucontext_entry = entry;  // there is one
    makecontext(context, ucontext_start, 0);
}

static void jump(Fiber *from, Fiber *to)
{
    if (!from->sp) from->sp = new ucontext_t;
    swapcontext((ucontext_t *)from->sp, (ucontext_t *)to->sp);
}

#endif

Fiber *fiber_new(void (*entry)())
{
    static int made;
    const size_t bytes = STACK + 2 * PAGE;
    char *memory = (char *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == (char *)MAP_FAILED || mprotect(memory, PAGE, PROT_NONE)) {
        fprintf(stderr, "cusim: no memory for the stack of thread %d\n", made);
        abort();
    }
    Fiber *fiber = new Fiber;
    fiber->bottom = memory + PAGE;
    fiber->bytes = bytes - PAGE;
    fiber->number = made++;
    fiber_restart(fiber, entry);
    return fiber;
}

#ifndef CUSIM_FAST_SWITCH
static Fiber *current;  // set by every switch; the first one leaves the host's stack

void fiber_entered(Fiber *self)
{
#ifdef CUSIM_ASAN
    Fiber *const from = current;
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->fake, &bottom, &bytes);
    if (from && !from->bottom) {  // the host's stack, seen for the first time
        from->bottom = (char *)bottom;
        from->bytes = bytes;
    }
#endif
    current = self;
}

void fiber_switch(Fiber *from, Fiber *to)
{
    current = from;
#ifdef CUSIM_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->bytes);
#endif
    jump(from, to);
    fiber_entered(from);
}
#endif

}  // namespace cusim
