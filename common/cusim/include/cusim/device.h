// SPDX-License-Identifier: MIT
/* device.h - what a kernel may call besides mathematics, atomics and collectives */
#ifndef CUSIM_DEVICE_H
#define CUSIM_DEVICE_H

#include "core.h"

/* ---- barriers -------------------------------------------------------------------- */

inline void __syncthreads(CUSIM_WHERE)
{
    ::cusim::barrier(0, "__syncthreads", where);
}
inline int __syncthreads_count(int predicate, CUSIM_WHERE)
{
    return ::cusim::barrier(predicate, "__syncthreads_count", where);
}
inline int __syncthreads_or(int predicate, CUSIM_WHERE)
{
    return ::cusim::barrier(predicate, "__syncthreads_or", where) != 0;
}
inline int __syncthreads_and(int predicate, CUSIM_WHERE)
{
    return ::cusim::barrier(!predicate, "__syncthreads_and", where) == 0;
}

/* ---- fences ---------------------------------------------------------------------- */

inline void __threadfence(CUSIM_WHERE)
{
    ::cusim::fence(where);
}
inline void __threadfence_block(CUSIM_WHERE)
{
    ::cusim::fence(where);
}
inline void __threadfence_system(CUSIM_WHERE)
{
    ::cusim::fence(where);
}

/* ---- the rest -------------------------------------------------------------------- */

inline void __trap(CUSIM_WHERE)
{
    ::cusim::trap("the kernel called __trap()", where);
}

/* A clock counts calls, not time: the CPU cannot know how long a GPU would take. */
extern long long cusim_clock;
inline long long clock64()
{
    return ++cusim_clock;
}
inline int clock_device()
{
    return (int)++cusim_clock;
}
inline void __nanosleep(unsigned)
{
}

inline bool __isGlobal(const void *)
{
    return true;
}

#endif
