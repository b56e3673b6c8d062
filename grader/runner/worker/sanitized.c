// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "sanitized.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "limits.h"
#include "scratch.h"

#define TEXT_OF(word)  #word
#define TEXT(macro)    TEXT_OF(macro)
#define LARGEST_IN_MIB TEXT(ROOM_MIB)

/* The sanitizers ask for these when they start. Addresses stay numbers: whoever reads
 * the report looks up the lines, so that nothing is started or opened in here. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:symbolize=0:exitcode=99:redzone=2048:quarantine_size_mb=64:"
           "max_allocation_size_mb=" LARGEST_IN_MIB ":allocator_may_return_null=1:"
           "print_legend=0:detect_stack_use_after_return=0";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    // it looks at the environment late, through /proc, which may be closed by then
    return getenv("UBSAN_OPTIONS")
               ? "print_stacktrace=1:symbolize=0:exitcode=99:halt_on_error=1:"
                 "abort_on_error=1"
               : "print_stacktrace=1:symbolize=0:exitcode=99:halt_on_error=1";
}

/* ---- blocks ---------------------------------------------------------------------- */

enum { MAX_BLOCKS = 4096 };

static struct {
    char *block, *slot;
    size_t bytes;
} moved[MAX_TENSORS];
static void *scratch[MAX_BLOCKS];
static int scratches;

void sanitized_enter(const link_t *link, tensor_t tensor[MAX_TENSORS],
                     tensor_t *const pointer[MAX_TENSORS])
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        moved[i].block = NULL;
        if (!pointer[i] || !tensor[i].data) continue;
        const wire_tensor_t *wire = &link->command->tensor[i];
        moved[i].bytes = (size_t)wire->extent;
        moved[i].slot = (char *)tensor[i].data;
        moved[i].block = (char *)malloc(moved[i].bytes);
        if (!moved[i].block) _Exit(3);
        memcpy(moved[i].block, moved[i].slot, moved[i].bytes);
        tensor[i].data = moved[i].block;
        // a slot's base plus the tensor's offset leads to its block
        uint64_t *base =
            i < SIDE_TENSORS
                ? &link->reply->in_base[wire->slot]
                : &link->reply->out_base[wire->bank * SIDE_TENSORS + wire->slot];
        *base = (uint64_t)(uintptr_t)moved[i].block - (uint64_t)wire->offset;
    }
}

void sanitized_leave(const link_t *link)
{
    (void)link;
    for (int i = 0; i < MAX_TENSORS; i++) {
        if (!moved[i].block) continue;
        if (i >= SIDE_TENSORS) memcpy(moved[i].slot, moved[i].block, moved[i].bytes);
        free(moved[i].block);
    }
}

void *scratch_guarded(ctx_t *ctx, size_t bytes)
{
    if (scratches == MAX_BLOCKS) return NULL;
    void *block = NULL;
    if (posix_memalign(&block, 64, bytes)) return NULL;
    const int32_t dtype = *(const int32_t *)ctx->scratch_state;
    const uint64_t bits = poison_bits(dtype, TAG_SCRATCH);
    const size_t element = dtype_bytes((dtype_t)dtype);
    for (size_t at = 0; at + element <= bytes; at += element) {
        memcpy((char *)block + at, &bits, element);
    }
    scratch[scratches++] = block;
    return block;
}

void *scratch_pooled(ctx_t *ctx, size_t bytes)
{
    return scratch_guarded(ctx, bytes);
}

int scratch_release(void)
{
    while (scratches > 0) free(scratch[--scratches]);
    return 0;
}

/* ---- traps ----------------------------------------------------------------------- */

enum { PLACES = 16, DEPTH = 8, PAINTED = 256 * 1024 };

static struct {
    uint32_t tag;
    int frames;
    void *frame[DEPTH];
} place[PLACES];
static int places;

/* Below our own frame the stack is as good as malloc'ed: give it an owner. */
static __attribute__((noinline)) void paint_stack(void)
{
    volatile uint32_t area[PAINTED / 4];
    const uint32_t bits = (uint32_t)poison_bits(DTYPE_F32, TAG_LOCAL);
    for (int i = 0; i < PAINTED / 4; i++) area[i] = bits;
    (void)area[0];
}

#if defined(__x86_64__)

enum {
    INVALID = 1,            // the flag in mxcsr
    INVALID_MASK = 1 << 7,  // set: no trap
    FLAGS = 0x3f,           // all of mxcsr's flags
    STEP = 1 << 8,          // in eflags: trap after one instruction
    REGISTERS = 160,        // where xmm0 begins in a saved state
    LEGACY = 512,           // bytes of a state without AVX
    EXTENDED = 0x46505853,  // says that there is more
    LARGEST_STATE = 1 << 14,
    MOST_REPEATS = 256,  // traps one after the other that tell nothing new; each costs
                         // two signals, so then they stay away until the next call
    TRAP_STACK = 1 << 16,
};

static int armed, repeats;
static char before[LARGEST_STATE];
static void *trapped_at;
static char trap_stack[TRAP_STACK];

static size_t state_bytes(const char *state)
{
    uint32_t words[12];  // what the kernel says of itself, at the end of the old part
    memcpy(words, state + LEGACY - 48, sizeof words);
    const size_t bytes = words[0] == EXTENDED ? words[4] : LEGACY;
    return bytes < LARGEST_STATE ? bytes : LARGEST_STATE;
}

/* The owner in what arithmetic made of a float's poison: a float, or the double it was
 * converted to. 0 for none. */
static uint32_t tag_of(uint32_t low, uint32_t high)
{
    uint32_t tag = 0;
    if ((low & 0x7fff0000u) == 0x7fe00000u) tag = low & 0xffff;
    if ((high & 0x7fffe000u) == 0x7ffc0000u && !(low & 0x1fffffffu)) {
        tag = (high & 0x1fff) << 3 | low >> 29;
    }
    return tag >= TAG_OUTSIDE && tag < TAG_LOCAL + 0x1000 ? tag : 0;
}

/* The owner that the instruction brought into a register; 0 for none. */
static uint32_t find_tag(const char *state)
{
    const size_t bytes = state_bytes(state);
    for (size_t at = REGISTERS; at + 8 <= bytes; at += 4) {
        uint32_t now[2], then[2];
        memcpy(now, state + at, sizeof now);
        memcpy(then, before + at, sizeof then);
        const uint32_t made = tag_of(now[0], now[1]);
        if (made && memcmp(now, then, sizeof now) != 0) return made;
    }
    return 0;
}

/* Remember where, once for each tag and place; of operations on no poison, 0/0 and the
 * like, the first alone. Returns whether this was new. */
static int note(uint32_t tag, const void *pc)
{
    for (int i = 0; i < places; i++) {
        if (place[i].tag == tag && (!tag || place[i].frame[0] == trapped_at)) return 0;
    }
    if (places == PLACES) return 0;
    void *chain[2 * DEPTH];
    const int length = backtrace(chain, 2 * DEPTH);
    int from = 0;
    while (from < length && chain[from] != pc) from++;  // past the handler's own
    place[places].tag = tag;
    place[places].frame[0] = trapped_at;
    int frames = 1;
    for (int i = from + 1; i < length && frames < DEPTH; i++) {
        place[places].frame[frames++] = (char *)chain[i] - 1;  // the call, not after it
    }
    place[places++].frames = frames;
    return 1;
}

/* Arithmetic on a signalling NaN, or without a result: let it happen, and look. */
static void on_invalid(int signo, siginfo_t *info, void *context)
{
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    if (!armed || info->si_code != FPE_FLTINV) {
        signal(signo, SIG_DFL);
        return;
    }
    trapped_at = (void *)machine->gregs[REG_RIP];
    memcpy(before, machine->fpregs, state_bytes((const char *)machine->fpregs));
    machine->fpregs->mxcsr |= INVALID_MASK;
    machine->gregs[REG_EFL] |= STEP;
}

static void on_step(int signo, siginfo_t *info, void *context)
{
    (void)signo, (void)info;
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    const uint32_t tag = find_tag((const char *)machine->fpregs);
    repeats = note(tag, (void *)machine->gregs[REG_RIP]) ? 0 : repeats + 1;
    machine->gregs[REG_EFL] &= ~STEP;
    machine->fpregs->mxcsr &= ~(uint32_t)FLAGS;
    if (repeats < MOST_REPEATS) machine->fpregs->mxcsr &= ~(uint32_t)INVALID_MASK;
}

static void set_traps(void)
{
    const stack_t stack = {.ss_sp = trap_stack, .ss_size = sizeof trap_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = on_invalid;
    sigaction(SIGFPE, &action, NULL);
    action.sa_sigaction = on_step;
    sigaction(SIGTRAP, &action, NULL);
    armed = 1;
    repeats = 0;
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() &
                           ~(unsigned)(INVALID_MASK | FLAGS));
}

static void remove_traps(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | INVALID_MASK);
    armed = 0;
}

#else  // many others cannot trap: uninitialised reads go without their line there

static void set_traps(void)
{
}
static void remove_traps(void)
{
}

#endif

void sanitized_watch(void)
{
    places = 0;
    void *chain[1];
    backtrace(chain, 1);  // loads libgcc now
    set_traps();
    paint_stack();
}

void sanitized_rest(reply_t *reply)
{
    remove_traps();
    size_t at = 0;
    reply->notes[0] = 0;
    for (int i = 0; i < places; i++) {
        char line[(DEPTH + 1) * 18];
        int length = snprintf(line, sizeof line, "%x", place[i].tag);
        for (int k = 0; k < place[i].frames; k++) {
            const uint64_t offset =
                (uint64_t)(uintptr_t)place[i].frame[k] - reply->module_base;
            length += snprintf(line + length, sizeof line - (size_t)length, " %llx",
                               (unsigned long long)offset);
        }
        if (at + (size_t)length + 2 > sizeof reply->notes) break;
        memcpy(reply->notes + at, line, (size_t)length);
        at += (size_t)length;
        reply->notes[at++] = '\n';
        reply->notes[at] = 0;
    }
}
