// SPDX-License-Identifier: MIT
/* faults.cpp - finds errors that only a signal or a sanitizer shows
 *
 * It finds three errors: an address that faults, a thread that never ends, and an
 * access that AddressSanitizer stops. Each becomes a finding with its block and its
 * thread. It also reports what remains when the program ends.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "errors.h"
#include "memory.h"
#include "schedule.h"

#ifdef CUSIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace cusim
{

/* One byte into the instruction: who turns a place into a line looks one byte back, as
 * behind a call. */
static const void *code_of(void *context)
{
    const ucontext_t *const machine = (const ucontext_t *)context;
#if defined(__x86_64__)
    return (const char *)machine->uc_mcontext.gregs[REG_RIP] + 1;
#elif defined(__aarch64__)
    return (const char *)machine->uc_mcontext.pc + 1;
#else
    (void)machine;
    return nullptr;
#endif
}

/* ---- addresses that fault -------------------------------------------------------- */

static void note_bad_address(const void *address, const void *code)
{
    if (!in_kernel() && is_device(address)) {
        found(Level::error, "host_dereference",
              text("the host touched device memory, %s; copy it with cudaMemcpy first",
                   describe(address).c_str()),
              {here("accessed", code)});
    } else if (in_kernel() && is_read_only(address)) {
        found(Level::error, "read_only",
              text("a thread writes %s, which is read-only", describe(address).c_str()),
              {here("written", code)});
    } else if (in_kernel() && is_device(address)) {
        found(Level::error, "out_of_bounds",
              text("a thread uses memory %s; is the index below 0, or too large for "
                   "its type?",
                   describe(address).c_str()),
              {here("accessed", code)});
    } else if (in_kernel() && past_stack(address)) {
        found(
            Level::error, "stack_overflow",
            "the thread's local variables need more than 256 KB; use smaller arrays or "
            "device memory",
            {here("accessed", code)});
    } else if (in_kernel() && address < (void *)4096) {
        found(Level::error, "null_pointer",
              text("the kernel used a NULL pointer (address %#zx)", (size_t)address),
              {here("accessed", code)});
    } else if (in_kernel()) {
        found(Level::error, "illegal_address",
              text("the kernel used the address %p, where there is no memory", address),
              {here("accessed", code)});
    }
}

static struct sigaction former[NSIG];

/* A fault in a kernel has been told: the sanitizer has nothing to add. */
static bool told;

static void on_fault(int number, siginfo_t *info, void *context)
{
    sigaction(number, &former[number], nullptr);
    told = in_kernel();
    if (told && info->si_code == SI_KERNEL) {
        found(Level::error, "misaligned",
              "the kernel used an address that is not allowed for an access of this "
              "size. A float4 needs a multiple of 16, and a pointer must be set before "
              "it is used",
              {here("accessed", code_of(context))});
        return;
    }
    note_bad_address(info->si_addr, code_of(context));
    // the instruction runs again, and the former handler or the system ends all
}

/* Whether an instruction is the program's own: no library's, ours among them. */
static bool is_own(const void *code)
{
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname) return false;
    const char *const slash = strrchr(info.dli_fname, '/');
    return strncmp(slash ? slash + 1 : info.dli_fname, "lib", 3) != 0;
}

/* The innermost frames that are the program's own: the signal may have come in a
 * function of ours or of a sanitizer. Returns how many. */
static int own_frames(const void **own, int most)
{
    void *frames[64];
    const int count = backtrace(frames, 64);
    int found = 0;
    for (int i = 2; i < count; i++) {  // behind us and the handler
        if (found < most && is_own(frames[i])) own[found++] = frames[i];
    }
    return found;
}

/* ---- threads that never end ------------------------------------------------------ */

static unsigned long seen_switches;
static int quiet_seconds, patience;
static int looks;            // since patience ended
enum { MOST_LOOKS = 2000 };  // one each millisecond
enum { FEW_WORDS = 64 };     // that a loop asks for again and again

static void next_tick(suseconds_t microseconds)
{
    const itimerval wait = {{1, 0}, {microseconds / 1000000, microseconds % 1000000}};
    setitimer(ITIMER_REAL, &wait, nullptr);
}

/* Once a second. A thread that has had the processor all the time waits for another
 * one, which cannot run: here as on a card, where nobody promises that it would. One
 * that goes on from word to word works: in the build that sees its accesses it may take
 * as long as the call. What tells of it allocates memory, and a library may be
 * halfway through the heap: it is
 * told when the signal comes in the program's own code. */
static void on_tick(int, siginfo_t *, void *context)
{
    const bool works = trace_reach() > FEW_WORDS;
    if (!in_kernel() || switches() != seen_switches || works) {
        seen_switches = switches();
        quiet_seconds = looks = 0;
        return;
    }
    if (quiet_seconds < patience && ++quiet_seconds < patience) return;
    if (!is_own(code_of(context)) && looks++ < MOST_LOOKS) {
        next_tick(1000);
        return;
    }
    Place places[4];
    size_t count = 0;
    const void *own[4];
    const int frames = own_frames(own, 4);
    for (int i = 0; i < frames; i++) {
        places[count++] = here(i ? "called" : "runs", own[i]);
    }
    if (!count) places[count++] = here("runs", code_of(context));
    found(Level::error, "spin",
          text("a thread has been running for %d s without an end or a barrier: is "
               "there a loop that never ends? A loop that waits for another thread's "
               "write never ends here, and may never end on a GPU. Use __syncthreads, "
               "or a second kernel. If one thread does all the work, divide the work "
               "among the threads",
               patience),
          places, count);
    _exit(124);
}

static void watch_time()
{
    const char *const wish = getenv("CUSIM_PATIENCE");  // seconds; 0 waits for ever
#if defined(CUSIM_ASAN) || defined(CUSIM_TRACE)
    patience = wish ? atoi(wish) : 10;
#else
    patience = wish ? atoi(wish) : 0;
#endif
    if (patience < 1) return;
    struct sigaction action = {};
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    next_tick(1000000);
}

/* ---- begin and end --------------------------------------------------------------- */

static void at_end()
{
    note_end();
    report_leaks();
}

#ifdef CUSIM_ASAN
static void on_asan_error(const char *report);
#endif

__attribute__((constructor)) static void begin()
{
#ifdef CUSIM_ASAN
    __lsan_disable();  // memory that the host forgets is not ours to report
    __asan_set_error_report_callback(on_asan_error);
#endif
    static char stack[64 << 10];  // a thread's own may be what overflowed
    const stack_t other = {stack, 0, sizeof stack};
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS}) {
        sigaction(number, &action, &former[number]);
    }
    watch_time();
    atexit(at_end);
}

/* ---- AddressSanitizer ------------------------------------------------------------ */

#ifdef CUSIM_ASAN

static const char *kind_of_access(const void *address)
{
    const Allocation *const allocation = allocation_at(address);
    if (allocation && !allocation->alive) return "use_after_free";
    return "out_of_bounds";
}

/* Which thread of a grid of one axis this is, for a sentence. */
static std::string number_in_grid()
{
    const bool one_axis =
        blockDim.y * blockDim.z == 1 && gridDim.y * gridDim.z == 1 && in_kernel();
    if (!one_axis) return "";
    return text(", as thread %zu of %zu in the grid",
                (size_t)blockIdx.x * blockDim.x + threadIdx.x,
                (size_t)gridDim.x * blockDim.x);
}

/* Called by the sanitizer with its report, before it ends the process. */
static void on_asan_error(const char *)
{
    if (told) return;
    const void *const address = __asan_get_report_address();
    const void *const code = __asan_get_report_pc();
    const char *const verb = __asan_get_report_access_type() ? "writes" : "reads";
    const size_t bytes = __asan_get_report_access_size();
    size_t offset;
    if (is_device(address) || is_shared(address, &offset)) {
        found(Level::error, kind_of_access(address),
              text("%s %s %zu bytes %s%s", in_kernel() ? "a thread" : "the host", verb,
                   bytes, describe(address).c_str(), number_in_grid().c_str()),
              {here(verb, code)});
    } else if (in_kernel() && is_local(address)) {
        found(Level::error, "out_of_bounds",
              text("a thread %s %zu bytes outside of a local variable", verb, bytes),
              {here(verb, code)});
    } else {
        note_bad_address(address, code);
    }
}

#endif

}  // namespace cusim
