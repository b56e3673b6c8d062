// SPDX-License-Identifier: MIT
/* math.h - what kernels compute with floats and doubles without naming a header
 *
 * If C has a function (expf, fmaf, erff), cusim uses C's. This file defines the others.
 * The last bits of results differ from a GPU's: C's expf is more exact than CUDA's
 * expf. In cusim __expf, __sinf and similar functions are as exact as expf and sinf.
 */
#ifndef CUSIM_MATH_H
#define CUSIM_MATH_H

#include <math.h>
#include <stdlib.h>

#include "integers.h"
#include "loads.h"
#include "rounding.h"

/* ---- the bits of a number -------------------------------------------------------- */

#define CUSIM_BITS(name, to, from)                                                     \
    CUSIM_INLINE to name(from x)                                                       \
    {                                                                                  \
        return __builtin_bit_cast(to, x);                                              \
    }
CUSIM_BITS(__float_as_int, int, float)
CUSIM_BITS(__float_as_uint, unsigned, float)
CUSIM_BITS(__int_as_float, float, int)
CUSIM_BITS(__uint_as_float, float, unsigned)
CUSIM_BITS(__double_as_longlong, long long, double)
CUSIM_BITS(__longlong_as_double, double, long long)
#undef CUSIM_BITS

CUSIM_INLINE int __double2hiint(double x)
{
    return int(__double_as_longlong(x) >> 32);
}

CUSIM_INLINE int __double2loint(double x)
{
    return int(__double_as_longlong(x));
}

CUSIM_INLINE double __hiloint2double(int hi, int lo)
{
    return __longlong_as_double(
        (long long)(uint64_t(unsigned(hi)) << 32 | unsigned(lo)));
}

/* ---- functions whose name ends in the rounding: rn, rz, ru, rd ------------------- */

/* Defines __float2int_rn, __int2float_rn and similar conversions. */
#define CUSIM_CONVERT(number, brief, whole, way, toward)                               \
    inline whole __##number##2##brief##_##way(number x)                                \
    {                                                                                  \
        return cusim::to_integer<whole>(x, cusim::Toward::toward, sizeof x == 8);      \
    }                                                                                  \
    inline number __##brief##2##number##_##way(whole x)                                \
    {                                                                                  \
        return cusim::from_integer<number>(x, cusim::Toward::toward);                  \
    }

/* Defines functions of floats. A double holds enough of the exact result: then the
 * second rounding, to float, is right. */
#define CUSIM_FLOAT(name, parameters, exact, way, toward)                              \
    CUSIM_INLINE float __f##name##_##way parameters                                    \
    {                                                                                  \
        return cusim::narrowed(exact, cusim::Toward::toward);                          \
    }

#define CUSIM_ROUNDED(way, toward)                                                     \
    CUSIM_CONVERT(float, int, int, way, toward)                                        \
    CUSIM_CONVERT(float, uint, unsigned, way, toward)                                  \
    CUSIM_CONVERT(float, ll, long long, way, toward)                                   \
    CUSIM_CONVERT(float, ull, unsigned long long, way, toward)                         \
    CUSIM_CONVERT(double, int, int, way, toward)                                       \
    CUSIM_CONVERT(double, uint, unsigned, way, toward)                                 \
    CUSIM_CONVERT(double, ll, long long, way, toward)                                  \
    CUSIM_CONVERT(double, ull, unsigned long long, way, toward)                        \
    CUSIM_FLOAT(add, (float a, float b), cusim::odd_fma(a, 1, b), way, toward)         \
    CUSIM_FLOAT(sub, (float a, float b), cusim::odd_fma(a, 1, -b), way, toward)        \
    CUSIM_FLOAT(mul, (float a, float b), double(a) * b, way, toward)                   \
    CUSIM_FLOAT(div, (float a, float b), double(a) / b, way, toward)                   \
    CUSIM_FLOAT(rcp, (float a), 1 / double(a), way, toward)                            \
    CUSIM_FLOAT(sqrt, (float a), __builtin_sqrt(double(a)), way, toward)               \
    CUSIM_FLOAT(maf, (float a, float b, float c), cusim::odd_fma(double(a), b, c),     \
                way, toward)                                                           \
    inline float __double2float_##way(double x)                                        \
    {                                                                                  \
        return cusim::narrowed(x, cusim::Toward::toward);                              \
    }
CUSIM_ROUNDED(rn, nearest)
CUSIM_ROUNDED(rz, zero)
CUSIM_ROUNDED(ru, up)
CUSIM_ROUNDED(rd, down)
#undef CUSIM_ROUNDED
#undef CUSIM_FLOAT
#undef CUSIM_CONVERT

CUSIM_INLINE float __frsqrt_rn(float x)
{
    return float(1 / __builtin_sqrt(double(x)));
}

namespace cusim
{
/* Returns x, so that the compiler cannot fuse x with the operation that reads it. */
CUSIM_INLINE double apart(double x)
{
    asm("" : "+m"(x));
    return x;
}
}  // namespace cusim

CUSIM_INLINE double __dadd_rn(double a, double b)
{
    return cusim::apart(a) + cusim::apart(b);
}

CUSIM_INLINE double __dsub_rn(double a, double b)
{
    return cusim::apart(a) - cusim::apart(b);
}

CUSIM_INLINE double __dmul_rn(double a, double b)
{
    return cusim::apart(a * b);
}

CUSIM_INLINE double __ddiv_rn(double a, double b)
{
    return a / b;
}

CUSIM_INLINE double __drcp_rn(double a)
{
    return 1 / a;
}

CUSIM_INLINE double __dsqrt_rn(double a)
{
    return __builtin_sqrt(a);
}

CUSIM_INLINE double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}

/* ---- the fast ones --------------------------------------------------------------- */

/* Headers of the C library declare some of these names as C functions. */
#define CUSIM_FAST(name, slow)                                                         \
    extern "C" inline float name(float x) noexcept                                     \
    {                                                                                  \
        return slow(x);                                                                \
    }
CUSIM_FAST(__expf, expf)
CUSIM_FAST(__exp10f, exp10f)
CUSIM_FAST(__logf, logf)
CUSIM_FAST(__log2f, log2f)
CUSIM_FAST(__log10f, log10f)
CUSIM_FAST(__sinf, sinf)
CUSIM_FAST(__cosf, cosf)
CUSIM_FAST(__tanf, tanf)
CUSIM_FAST(__tanhf, tanhf)
#undef CUSIM_FAST

extern "C" inline float __powf(float x, float y) noexcept
{
    return powf(x, y);
}

extern "C" inline void __sincosf(float x, float *sine, float *cosine) noexcept
{
    *sine = sinf(x);
    *cosine = cosf(x);
}

CUSIM_INLINE float __saturatef(float x)  // NaN becomes 0
{
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}

CUSIM_INLINE float __fdividef(float x, float y)  // 0 for the very largest y
{
    return __builtin_fabsf(y) > 0x1p126f && __builtin_fabsf(y) < __builtin_inff()
               ? x * 0
               : x / y;
}

CUSIM_INLINE float fdividef(float x, float y)
{
    return x / y;
}

/* ---- min and max: of a NaN and a number, the number ------------------------------ */

CUSIM_INLINE float min(float a, float b)
{
    return fminf(a, b);
}

CUSIM_INLINE float max(float a, float b)
{
    return fmaxf(a, b);
}

CUSIM_INLINE double min(double a, double b)
{
    return fmin(a, b);
}

CUSIM_INLINE double max(double a, double b)
{
    return fmax(a, b);
}

CUSIM_INLINE double min(float a, double b)
{
    return fmin(double(a), b);
}

CUSIM_INLINE double max(float a, double b)
{
    return fmax(double(a), b);
}

CUSIM_INLINE double min(double a, float b)
{
    return fmin(a, double(b));
}

CUSIM_INLINE double max(double a, float b)
{
    return fmax(a, double(b));
}

#include "math_more.h"

#endif
