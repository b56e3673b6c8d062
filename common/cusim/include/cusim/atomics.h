// SPDX-License-Identifier: MIT
/* atomics.h - atomicAdd and similar functions
 *
 * One OS thread runs all threads of the simulated GPU. It switches to another thread
 * only where a thread waits. So a plain read and write is atomic. The race check first
 * gets a report of the atomic operation. cusim then hides the plain accesses from the
 * race check, because the check would report them as a race. */
#ifndef CUSIM_ATOMICS_H
#define CUSIM_ATOMICS_H

#include "core.h"
#include "marks.h"

namespace cusim
{

template <class T, class Change>
CUSIM_QUIET inline T changed(T *address, T operand, Change change)
{
    const T old = *address;
    *address = change(old, operand);
    return old;
}

template <class T> CUSIM_QUIET inline T swapped(T *address, T compare, T value)
{
    const T old = *address;
    if (old == compare) *address = value;
    return old;
}

}  // namespace cusim

/* Defines name(address, b): sets *address to `expression` of b and the old value a. */
#define CUSIM_ATOMIC_AS(name, type, expression)                                        \
    inline type name(type *address, type operand, CUSIM_WHERE)                         \
    {                                                                                  \
        cusim::atomic(address, sizeof *address, where);                                \
        return cusim::changed(address, operand, [](type a, type b) CUSIM_QUIET {       \
            (void)a;                                                                   \
            return (type)(expression);                                                 \
        });                                                                            \
    }
#define CUSIM_ATOMIC(name, type, expression)                                           \
    CUSIM_ATOMIC_AS(name, type, expression)                                            \
    CUSIM_ATOMIC_AS(name##_block, type, expression)                                    \
    CUSIM_ATOMIC_AS(name##_system, type, expression)

typedef long long cusim_ll;
typedef unsigned long long cusim_ull;

CUSIM_ATOMIC(atomicAdd, int, unsigned(a) + unsigned(b))
CUSIM_ATOMIC(atomicAdd, unsigned, a + b)
CUSIM_ATOMIC(atomicAdd, cusim_ull, a + b)
CUSIM_ATOMIC(atomicAdd, float, a + b)
CUSIM_ATOMIC(atomicAdd, double, a + b)
CUSIM_ATOMIC(atomicSub, int, unsigned(a) - unsigned(b))
CUSIM_ATOMIC(atomicSub, unsigned, a - b)
CUSIM_ATOMIC(atomicExch, int, b)
CUSIM_ATOMIC(atomicExch, unsigned, b)
CUSIM_ATOMIC(atomicExch, cusim_ull, b)
CUSIM_ATOMIC(atomicExch, float, b)
CUSIM_ATOMIC(atomicMin, int, b < a ? b : a)
CUSIM_ATOMIC(atomicMin, unsigned, b < a ? b : a)
CUSIM_ATOMIC(atomicMin, cusim_ll, b < a ? b : a)
CUSIM_ATOMIC(atomicMin, cusim_ull, b < a ? b : a)
CUSIM_ATOMIC(atomicMax, int, b > a ? b : a)
CUSIM_ATOMIC(atomicMax, unsigned, b > a ? b : a)
CUSIM_ATOMIC(atomicMax, cusim_ll, b > a ? b : a)
CUSIM_ATOMIC(atomicMax, cusim_ull, b > a ? b : a)
CUSIM_ATOMIC(atomicInc, unsigned, a >= b ? 0 : a + 1)
CUSIM_ATOMIC(atomicDec, unsigned, a == 0 || a > b ? b : a - 1)
CUSIM_ATOMIC(atomicAnd, int, a &b)
CUSIM_ATOMIC(atomicAnd, unsigned, a &b)
CUSIM_ATOMIC(atomicAnd, cusim_ull, a &b)
CUSIM_ATOMIC(atomicOr, int, a | b)
CUSIM_ATOMIC(atomicOr, unsigned, a | b)
CUSIM_ATOMIC(atomicOr, cusim_ull, a | b)
CUSIM_ATOMIC(atomicXor, int, a ^ b)
CUSIM_ATOMIC(atomicXor, unsigned, a ^ b)
CUSIM_ATOMIC(atomicXor, cusim_ull, a ^ b)

#define CUSIM_ATOMIC_CAS(name, type)                                                   \
    inline type name(type *address, type compare, type value, CUSIM_WHERE)             \
    {                                                                                  \
        cusim::atomic(address, sizeof *address, where);                                \
        return cusim::swapped(address, compare, value);                                \
    }
#define CUSIM_ATOMIC_CASES(type)                                                       \
    CUSIM_ATOMIC_CAS(atomicCAS, type)                                                  \
    CUSIM_ATOMIC_CAS(atomicCAS_block, type)                                            \
    CUSIM_ATOMIC_CAS(atomicCAS_system, type)
CUSIM_ATOMIC_CASES(int)
CUSIM_ATOMIC_CASES(unsigned)
CUSIM_ATOMIC_CASES(cusim_ull)
CUSIM_ATOMIC_CASES(unsigned short)
#undef CUSIM_ATOMIC_CASES
#undef CUSIM_ATOMIC_CAS

#endif
