// SPDX-License-Identifier: MIT
/* core.h - what the CUDA headers of this folder and the rewritten source call
 *
 * A .cu file is preprocessed, and cusim/rewrite.py rewrites three constructs of it. Any
 * C++17 compiler does the rest:
 *
 *   k<<<grid, block>>>(x)      ::cusim::launch(k, "k", ::cusim::config(grid, block))(x)
 *   __shared__ T a[N];         a reference into the block's shared memory
 *   extern __shared__ T a[];   a pointer to the block's dynamic shared memory
 *
 * Everything runs in one OS thread. The threads of a block run one after another. A
 * thread that must wait keeps its stack (a fiber) until it may go on.
 */
#ifndef CUSIM_CORE_H
#define CUSIM_CORE_H

#include <cstddef>
#include <cstdint>
#include <utility>

#include "vector_types.h"

struct CUstream_st;
typedef struct CUstream_st *cudaStream_t;

/* The indices of the running thread. The variables are plain, so that a debugger can
 * test `threadIdx.x == 3`. cusim sets them at every switch of threads. Only kernels
 * read them. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

enum { warpSize = 32 };

namespace cusim
{

/* A line of the .cu file. The parameter CUSIM_WHERE is the caller's line by default. */
struct Where {
    const char *file;
    int line;
    static constexpr Where here(const char *file = __builtin_FILE(),
                                int line = __builtin_LINE())
    {
        return {file, line};
    }
};
#define CUSIM_WHERE ::cusim::Where where = ::cusim::Where::here()

/* The race check ignores such a function: kernel arguments are in host memory. */
#define CUSIM_UNTRACED __attribute__((no_sanitize_thread))

/* ---- launches -------------------------------------------------------------------- */

struct Config {
    dim3 grid, block;
    size_t shared;  // bytes of dynamic shared memory
    cudaStream_t stream;
};

inline Config config(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0)
{
    return {grid, block, shared, stream};
}

/* The arguments of a launch. A GPU keeps arguments in constant memory. cusim keeps them
 * in host memory, and each thread copies them. */
struct Handed {
    const void *at;
    size_t bytes;
};

/* Runs body(argument) once for each thread of the grid. `kernel` identifies the kernel
 * (limits of cudaFuncSetAttribute); it may be NULL. `handed` ends with a NULL. Errors
 * go to cudaGetLastError. */
void run(const Config &config, const char *name, const void *kernel, Where where,
         void (*body)(const void *argument), const void *argument,
         const Handed *handed);

template <class... P> struct Launch {
    void (*kernel)(P...);
    const char *name;
    Config config;
    Where where;

    // arguments are converted and copied once a launch, and once more for each thread
    void operator()(P... arguments) const
    {
        const Handed handed[] = {{__builtin_addressof(arguments), sizeof arguments}...,
                                 {nullptr, 0}};
        const auto each = [&]() CUSIM_UNTRACED { kernel(arguments...); };
        run(
            config, name, (const void *)kernel, where,
            [](const void *argument)
                CUSIM_UNTRACED { (*(decltype(each) *)argument)(); },
            &each, handed);
    }
};

/* launch(kernel, "kernel", config)(arguments) launches a kernel without overloads. */
template <class... P>
Launch<P...> launch(void (*kernel)(P...), const char *name, Config config, CUSIM_WHERE)
{
    return {kernel, name, config, where};
}

template <class F> struct LaunchAny {
    F kernel;
    const char *name;
    Config config;
    Where where;

    template <class... A> void operator()(A... arguments) const
    {
        const Handed handed[] = {{__builtin_addressof(arguments), sizeof arguments}...,
                                 {nullptr, 0}};
        const auto each = [&]() CUSIM_UNTRACED { kernel(arguments...); };
        run(
            config, name, nullptr, where,
            [](const void *argument)
                CUSIM_UNTRACED { (*(decltype(each) *)argument)(); },
            &each, handed);
    }
};

/* launch_any launches overloaded kernels, or a template with deduced arguments:
 * launch_any([&](auto... a) { kernel(a...); }, "kernel", config)(arguments). */
template <class F>
LaunchAny<F> launch_any(F kernel, const char *name, Config config, CUSIM_WHERE)
{
    return {kernel, name, config, where};
}

/* ---- shared memory --------------------------------------------------------------- */

/* One `__shared__` declaration. The rewriter turns `__shared__ float tile[8][9];` into
 *
 *   struct cusim_3 { float tile[8][9]; };
 *   static ::cusim::Shared cusim_site_3 = {"tile", __FILE__, __LINE__};
 *   auto &tile = ::cusim::shared<cusim_3>(cusim_site_3).tile;
 */
struct Shared {
    const char *name;
    const char *file;
    int line;
    uint64_t block = 0;  // serial number of the block that `memory` belongs to
    void *memory = nullptr;
};

extern uint64_t block_serial;  // counts blocks of all launches, from 1

/* Returns the memory of the running block for a declaration. The first call in a block
 * fills the memory with NaN bytes. */
void *shared_memory(Shared &site, size_t bytes, size_t alignment);

template <class T> CUSIM_UNTRACED inline T &shared(Shared &site)
{
    if (site.block != block_serial) {
        site.memory = shared_memory(site, sizeof(T), alignof(T));
        site.block = block_serial;
    }
    return *static_cast<T *>(site.memory);
}

/* Returns the dynamic shared memory of a block: `extern __shared__ float a[];` becomes
 * `float *const a = (float *)::cusim::dynamic_shared();`. The address never changes, so
 * a declaration outside of functions works too. */
void *dynamic_shared();

/* ---- waiting --------------------------------------------------------------------- */

/* __syncthreads and similar functions wait for all threads of the block. They return
 * the number of threads whose predicate is not 0. */
int barrier(int predicate, const char *name, Where where);

/* The rewriter writes this call at the end of each kernel's body. A thread that gets
 * here has passed every barrier of the kernel. */
void end_of_kernel();

/* Runs a warp collective. Each lane of `mask` passes `mine`, and lane[i] is `mine` of
 * lane i. The last lane that arrives runs finish(lane, mask) for all lanes. `name`
 * identifies the collective: lanes that meet must have called the same one. */
void together(unsigned mask, void *mine, void (*finish)(void *const lane[32], unsigned),
              const char *name, Where where);

/* Reports that a lane reads lane `from`: in `mask`, but not in the block. */
void absent_lane(int from, unsigned mask, const char *name, Where where);

/* Returns the mask of lanes that are at this line now. A lane is not in the mask if it
 * waits at another line or has returned. */
unsigned active_mask(Where where);

/* While an Unseen exists, the checks ignore all accesses: only cusim makes them now.
 */
struct Unseen {
    Unseen();
    ~Unseen();
};

struct Position {
    int thread, lane, warp;  // within the block
    unsigned warp_lanes;     // which lanes the warp has (the last one may be partial)
};
const Position &position();

/* Reports the steps of a loop to the counts. Lanes often run an instruction together if
 * their loops have made the same number of steps. If the counts are on, the rewriter
 * turns `for (a; b; c) body` into
 *
 *   if (::cusim::Loop cusim_loop_3(3); false) {} else
 *       for (a; cusim_loop_3.next(), (b); c) body */
class Loop
{
  public:
    explicit Loop(unsigned place);
    Loop(const Loop &) = delete;
    ~Loop();
    void next();

  private:
    uint64_t around, inside, round;
};

/* Reports __threadfence and similar functions to the race check. */
void fence(Where where);

/* Reports an atomic operation on `bytes` bytes at `address` to the race check. */
void atomic(const volatile void *address, size_t bytes, Where where);

/* Ends the launch with an error, because a thread cannot go on (assert, __trap). */
[[noreturn]] void trap(const char *sentence, Where where);

}  // namespace cusim

#endif
