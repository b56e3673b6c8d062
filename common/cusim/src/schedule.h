// SPDX-License-Identifier: MIT
/* schedule.h - runs and stops the threads of a block, and tells which one runs */
#ifndef CUSIM_SCHEDULE_H
#define CUSIM_SCHEDULE_H

#include "findings.h"

namespace cusim
{

/* Returns true while a kernel runs. */
bool in_kernel();

/* Returns line, block and thread for a finding; outside of kernels only the line. */
Place here(const char *what, Where where);
Place here(const char *what, const void *code);

/* Returns threadIdx (x, y, z) of thread number `thread` of the running block. */
uint3 thread_index(int thread);

/* Returns whether the address is on the stack of a thread of the running block. */
bool is_local(const volatile void *address);

/* Returns whether the address is in an argument of the running launch. */
bool is_argument(const volatile void *address);

/* Returns whether the address is in the guard page under the running thread's stack. */
bool past_stack(const void *address);

/* Returns the number of switches between threads since the process began. */
unsigned long switches();

/* Ends the launch; the host continues after the launch with cudaErrorLaunchFailure. The
 * caller has stored the finding. */
[[noreturn]] void end_launch();

/* Runs body(argument) for every thread. Returns false if an error ended the launch. */
bool run_grid(const Config &config, void (*body)(const void *), const void *argument);

/* Reports of the scheduler to the race check and the counts (trace.cpp). */
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
