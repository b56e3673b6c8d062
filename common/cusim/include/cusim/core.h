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

/* The indices of the present thread. They are plain variables, so that a debugger can
 * test `threadIdx.x == 3`. They are set at every switch of threads, and read only in
 * kernels. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

enum { warpSize = 32 };

namespace cusim
{

/* A line of the .cu file. As a default argument it is the line of the call. */
struct Where {
    const char *file;
    int line;
    static constexpr Where here(const char *file = __builtin_FILE(),
                                int line = __builtin_LINE())
    {
        return {file, line};
    }
};

/* The race check ignores it: a kernel's arguments are in the host's memory. */
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

/* The arguments of a launch. The card keeps them in constant memory. Here they are in
 * the host's memory, and each thread copies them. */
struct Handed {
    const void *at;
    size_t bytes;
};

/* Run body(argument) once for each thread of the grid. `kernel` tells kernels apart
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

/* launch(kernel, "kernel", config)(arguments): the usual case, one function. */
template <class... P>
Launch<P...> launch(void (*kernel)(P...), const char *name, Config config,
                    Where where = Where::here())
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

/* The same for a set of overloads, or for a template with deduced arguments:
 * launch_any([&](auto... a) { kernel(a...); }, "kernel", config)(arguments). */
template <class F>
LaunchAny<F> launch_any(F kernel, const char *name, Config config,
                        Where where = Where::here())
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

/* This block's memory for a declaration. The first call in the block fills it with NaN
 * bytes. */
void *shared_memory(Shared &site, size_t bytes, size_t alignment);

template <class T> CUSIM_UNTRACED inline T &shared(Shared &site)
{
    if (site.block != block_serial) {
        site.memory = shared_memory(site, sizeof(T), alignof(T));
        site.block = block_serial;
    }
    return *static_cast<T *>(site.memory);
}

/* The block's dynamic shared memory: `extern __shared__ float a[];` becomes `float
 * *const a = (float *)::cusim::dynamic_shared();`. Its address never changes, so a
 * declaration outside of functions works too. */
void *dynamic_shared();

/* ---- waiting --------------------------------------------------------------------- */

/* __syncthreads and similar functions wait for the block. They return how many threads
 * arrived with a predicate that is not 0. */
int barrier(int predicate, const char *name, Where where);

/* The rewriter writes this call at the end of each kernel's body. A thread that arrives
 * here has passed every barrier above. */
void end_of_kernel();

/* A warp collective. Each lane of `mask` hands in `mine`, and lane[i] is what lane i
 * handed in. The last lane to arrive runs finish(lane, mask) for all. `name` tells
 * collectives apart: lanes that meet must have called the same. */
void together(unsigned mask, void *mine, void (*finish)(void *const lane[32], unsigned),
              const char *name, Where where);

/* A lane reads a lane that its mask names and the block does not have. */
void absent_lane(int from, unsigned mask, const char *name, Where where);

/* The lanes that are at this line now. A lane of the warp is missing if it waits
 * elsewhere or has left. */
unsigned active_mask(Where where);

/* While one exists, the checks ignore all accesses: cusim makes them, not the kernel.
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

/* A loop, reported to the counts. Lanes often run an instruction together if their
 * loops have made the same number of steps. If accesses are counted, the rewriter turns
 * `for (a; b; c) body` into
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

/* __threadfence and similar functions, reported to the race check. */
void fence(Where where);

/* Around an atomic operation on `bytes` bytes at `address`. */
void atomic(const volatile void *address, size_t bytes, Where where);

/* A thread that cannot go on (assert, __trap): ends the launch with an error. */
[[noreturn]] void trap(const char *sentence, Where where);

}  // namespace cusim

#endif
