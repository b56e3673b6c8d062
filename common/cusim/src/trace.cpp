// SPDX-License-Identifier: MIT
#include "trace.h"

#ifdef CUSIM_TRACE

#include <link.h>

#include <unordered_set>
#include <vector>

#include "block.h"
#include "limits.h"
#include "memory.h"

namespace cusim
{

static const Position *by;  // the thread that runs, NULL outside of kernels
static struct {
    bool races = true, counts = true;
} wanted;

void watch(bool races, bool counts)
{
    wanted = {races, counts};
}

static uint64_t of_the_host;
static uint64_t *turn = &of_the_host;  // of the thread that runs
static std::vector<uint64_t> turns;    // of all threads of the block

/* ---- whose memory ---------------------------------------------------------------- */

struct Range {
    uintptr_t begin, end;
};

static std::vector<Range> &modules()
{
    static auto *const ranges = new std::vector<Range>;
    return *ranges;
}

static int add_module(dl_phdr_info *info, size_t, void *)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        modules().push_back({begin, begin + segment.p_memsz});
    }
    return 0;
}

/* threadIdx and its kin: registers of a card. */
static bool is_register(const volatile void *address)
{
    const struct {
        const void *variable;
        size_t bytes;
    } registers[] = {{&threadIdx, sizeof threadIdx},
                     {&blockIdx, sizeof blockIdx},
                     {&blockDim, sizeof blockDim},
                     {&gridDim, sizeof gridDim},
                     {&block_serial, sizeof block_serial}};
    for (const auto &one : registers) {
        const size_t offset = (size_t)((uintptr_t)address - (uintptr_t)one.variable);
        if (offset < one.bytes) return true;
    }
    return false;
}

/* Variables of the program: __device__ and __constant__ ones live there. */
static bool is_variable(const volatile void *address)
{
    for (const Range &range : modules()) {
        if ((uintptr_t)address >= range.begin && (uintptr_t)address < range.end) {
            return true;
        }
    }
    return false;
}

/* Memory of the device that was never given out: an index that wrapped around. */
static void stray(const volatile void *address, Op op, const void *code)
{
    found(Level::error, "out_of_bounds",
          text("a thread %s %s; is the index below 0, or too large for its type?",
               op == Op::load ? "reads" : "writes", describe(address).c_str()),
          {here("accessed", code)});
    end_launch();
}

static void host_pointer(const volatile void *address, Op op, const void *code)
{
    found(
        Level::error, "host_pointer",
        text("the kernel %s memory of the host at %p. A kernel can only use device "
             "memory: copy it there with cudaMemcpy and pass the pointer of cudaMalloc",
             op == Op::load ? "reads" : "writes", (const void *)address),
        {here("accessed", code)});
    end_launch();
}

/* ---- variables that a kernel wrote ---------------------------------------------- */

/* Words of __device__ variables with what a card's program would not see: there the
 * host has another variable of that name. While an operator runs: it has no managed
 * ones. */
static std::unordered_set<uintptr_t> written;
enum { WORD = 4 };

void trace_variable(const volatile void *address, size_t bytes)
{
    if (!host_is_limited()) return;
    for (size_t at = 0; at < bytes; at += WORD) {
        written.insert(((uintptr_t)address + at) / WORD);
    }
}

static void host_access(const volatile void *address, const void *code)
{
    if (written.empty() || in_kernel() || !host_is_limited()) return;
    if (!written.count((uintptr_t)address / WORD)) return;
    written.clear();  // one sentence is enough
    found(Level::error, "host_variable",
          "the host reads a variable that was written on the device, without a copy. "
          "On a GPU, host and device have two copies of the variable. Compute in "
          "kernels, where the tensors are",
          {here("read", code)});
}

/* ---- how far accesses reach ------------------------------------------------------ */

static uint64_t reached[64];  // a bit for each word, up to 4096; some share one

static inline void reach(const volatile void *address)
{
    const uint64_t mixed = (uint64_t)address / WORD * 0x9e3779b97f4a7c15;
    reached[mixed >> 58] |= 1ull << (mixed >> 52 & 63);
}

int trace_reach()
{
    int words = 0;
    for (uint64_t &bits : reached) {
        words += __builtin_popcountll(bits);
        bits = 0;
    }
    return words;
}

/* ---- one access ------------------------------------------------------------------ */

/* Whether an access of the thread that runs may be the card's business. What lies on
 * its own stack is not, and that is what most accesses of a kernel with a tile of
 * registers are: they end here, without a call. */
static inline bool is_seen(const volatile void *address)
{
    const Fiber *const own = now.fiber;
    return by && (uintptr_t)address - (uintptr_t)own->bottom >= own->bytes;
}

static void access(const volatile void *address, size_t bytes, Op op, const void *code)
{
    size_t offset;
    Space space = Space::global;
    if (is_shared(address, &offset)) {
        space = Space::shared;
    } else if (!is_device(address)) {
        if (is_register(address) || is_local(address)) return;  // not the card's
        if (op == Op::load && is_argument(address)) return;
        if (!is_variable(address)) host_pointer(address, op, code);
        if (op != Op::load) trace_variable(address, bytes);
    } else if (!is_given(address)) {
        stray(address, op, code);
    }
    reach(address);
    const volatile char *byte = (const volatile char *)address;
    while (bytes) {
        const size_t part = bytes < 16 ? bytes : 16;
        const Access one = {byte, part, space, op, code, by, *turn};
        if (wanted.races) race_access(one);
        if (wanted.counts) count_access(one);
        byte += part;
        bytes -= part;
    }
}

static void copied(void *to, const void *from, size_t bytes, const void *code)
{
    if (by) {
        access(from, bytes, Op::load, code);
        access(to, bytes, Op::store, code);
    }
    host_access(from, code);
}

/* ---- turns of loops -------------------------------------------------------------- */

/* One number for the loops around, their places and how often each has gone round. */
static uint64_t mixed(uint64_t a, uint64_t b)
{
    a = (a ^ b) * 0x9e3779b97f4a7c15;
    return a ^ a >> 29;
}

Loop::Loop(unsigned place) : around(*turn), inside(mixed(*turn, place)), round(0)
{
}

void Loop::next()
{
    *turn = mixed(inside, ++round);
}

Loop::~Loop()
{
    *turn = around;
}

/* ---- what the scheduler tells ---------------------------------------------------- */

void trace_launch(const char *name, const Config &config, Where)
{
    turns.assign((size_t)config.block.x * config.block.y * config.block.z, 0);
    modules().clear();
    dl_iterate_phdr(add_module, nullptr);
    race_launch();
    count_launch(name);
    count_block((size_t)config.block.x * config.block.y * config.block.z);
}

void trace_launch_end()
{
    by = nullptr;
    turn = &of_the_host;
    race_launch_end();
    count_launch_end();
}

void trace_block(uint64_t)
{
    race_block();
    count_block_sync();
}

void trace_thread(int thread)
{
    by = &position();
    turn = &turns[(size_t)thread];
}

void trace_block_sync()
{
    race_block_sync();
    count_block_sync();
}

void trace_warp_sync(int warp, unsigned lanes)
{
    race_warp_sync(warp, lanes);
    count_warp_sync(warp, lanes);
}

void trace_thread_end(int thread)
{
    turns[(size_t)thread] = 0;
}

static int unseen;  // how many live

Unseen::Unseen()
{
    unseen++;
    by = nullptr;
}

Unseen::~Unseen()
{
    unseen--;
    if (!unseen && in_kernel()) by = &position();
}

void fence(Where)
{
    if (by) race_fence();
}

__attribute__((noinline)) void atomic(const volatile void *address, size_t bytes, Where)
{
    if (!by) return;
    race_atomic(address);
    access(address, bytes, Op::atomic, __builtin_return_address(0));
}

}  // namespace cusim

/* ---- what the compilers call ----------------------------------------------------- */

using cusim::Op;

#define CALLER __builtin_return_address(0)
#define CUSIM_ACCESS(name, bytes, op)                                                  \
    extern "C" void name(void *address)                                                \
    {                                                                                  \
        if (cusim::is_seen(address)) cusim::access(address, bytes, op, CALLER);        \
        if (op == Op::load) cusim::host_access(address, CALLER);                       \
    }
#define CUSIM_SIZE(bytes)                                                              \
    CUSIM_ACCESS(__tsan_read##bytes, bytes, Op::load)                                  \
    CUSIM_ACCESS(__tsan_write##bytes, bytes, Op::store)                                \
    CUSIM_ACCESS(__tsan_unaligned_read##bytes, bytes, Op::load)                        \
    CUSIM_ACCESS(__tsan_unaligned_write##bytes, bytes, Op::store)                      \
    CUSIM_ACCESS(__tsan_volatile_read##bytes, bytes, Op::load)                         \
    CUSIM_ACCESS(__tsan_volatile_write##bytes, bytes, Op::store)                       \
    CUSIM_ACCESS(__tsan_unaligned_volatile_read##bytes, bytes, Op::load)               \
    CUSIM_ACCESS(__tsan_unaligned_volatile_write##bytes, bytes, Op::store)             \
    extern "C" void __tsan_read_write##bytes(void *address)                            \
    {                                                                                  \
        if (!cusim::is_seen(address)) return;                                          \
        cusim::access(address, bytes, Op::load, CALLER);                               \
        cusim::access(address, bytes, Op::store, CALLER);                              \
    }                                                                                  \
    extern "C" void __tsan_unaligned_read_write##bytes(void *address)                  \
    {                                                                                  \
        if (!cusim::is_seen(address)) return;                                          \
        cusim::access(address, bytes, Op::load, CALLER);                               \
        cusim::access(address, bytes, Op::store, CALLER);                              \
    }

CUSIM_SIZE(1)
CUSIM_SIZE(2)
CUSIM_SIZE(4)
CUSIM_SIZE(8)
CUSIM_SIZE(16)

extern "C" void __tsan_read_range(void *address, size_t bytes)
{
    if (cusim::by) cusim::access(address, bytes, Op::load, CALLER);
    cusim::host_access(address, CALLER);
}

extern "C" void __tsan_write_range(void *address, size_t bytes)
{
    if (cusim::by) cusim::access(address, bytes, Op::store, CALLER);
}

extern "C" void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    cusim::copied(to, from, bytes, CALLER);
    return __builtin_memcpy(to, from, bytes);
}

extern "C" void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    cusim::copied(to, from, bytes, CALLER);
    return __builtin_memmove(to, from, bytes);
}

extern "C" void *__tsan_memset(void *to, int value, size_t bytes)
{
    if (cusim::by) cusim::access(to, bytes, Op::store, CALLER);
    return __builtin_memset(to, value, bytes);
}

extern "C" void __tsan_init()
{
}
extern "C" void __tsan_func_entry(void *)
{
}
extern "C" void __tsan_func_exit()
{
}
extern "C" void __tsan_vptr_update(void **, void *)
{
}
extern "C" void __tsan_vptr_read(void **)
{
}
extern "C" void __tsan_ignore_thread_begin()
{
}
extern "C" void __tsan_ignore_thread_end()
{
}

#endif
