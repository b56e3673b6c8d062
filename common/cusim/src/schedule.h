// SPDX-License-Identifier: MIT
/* schedule.h - runs and stops the threads of a block, and tells which one runs */
#ifndef CUSIM_SCHEDULE_H
#define CUSIM_SCHEDULE_H

#include "findings.h"

namespace cusim
{

/* True while a kernel runs. */
bool in_kernel();

/* The present thread as a place; outside of kernels only the line. */
Place here(const char *what, Where where);
Place here(const char *what, const void *code);

/* The thread (x, y, z) with a number within the present block. */
uint3 thread_index(int thread);

/* Whether an address lies on the stack of a thread of the block. */
bool is_local(const volatile void *address);

/* Whether it belongs to an argument of the launch that runs (launch.cpp). */
bool is_argument(const volatile void *address);

/* Whether it lies in the guard page under the present thread's stack. */
bool past_stack(const void *address);

/* How often another thread got its turn, since the process began. */
unsigned long switches();

/* End the launch now; the host goes on behind it with cudaErrorLaunchFailure. The
 * finding has been noted before. */
[[noreturn]] void end_launch();

/* Run body(argument) for every thread; false if the launch was ended by an error. */
bool run_grid(const Config &config, void (*body)(const void *), const void *argument);

/* What the race check and the counts are told (trace.cpp). */
#ifdef CUSIM_TRACE
void trace_launch(const char *name, const Config &config, Where where);
void trace_launch_end();
void trace_block(uint64_t block);                // a block begins
void trace_thread(int thread);                   // this thread runs from now on
void trace_block_sync();                         // all threads of the block have met
void trace_warp_sync(int warp, unsigned lanes);  // these lanes have met
void trace_thread_end(int thread);
void trace_fill(const void *address, size_t bytes);  // the host writes device memory
// about how many words kernels have accessed since the last question
int trace_reach();
// a __device__ variable gets what lies on the device
void trace_variable(const volatile void *address, size_t bytes);
#else
inline void trace_launch(const char *, const Config &, Where)
{
}
inline void trace_launch_end()
{
}
inline void trace_block(uint64_t)
{
}
inline void trace_thread(int)
{
}
inline void trace_block_sync()
{
}
inline void trace_warp_sync(int, unsigned)
{
}
inline void trace_thread_end(int)
{
}
inline void trace_fill(const void *, size_t)
{
}
inline int trace_reach()
{
    return 0;  // nobody knows
}
inline void trace_variable(const volatile void *, size_t)
{
}
#endif

}  // namespace cusim

#endif
