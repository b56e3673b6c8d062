// SPDX-License-Identifier: MIT
/* small_pair.h - two 16-bit floating-point numbers in one word
 *
 * This header has no include guard. It is included after small_float.h, with the same
 * names defined. CUSIM_H2 is the type of the pair (x, y). An operation of pairs applies
 * the operation of small_float.h to x and to y.
 */

struct alignas(4) CUSIM_H2 {
    CUSIM_H x, y;

    CUSIM_H2() = default;
    CUSIM_INLINE CUSIM_H2(CUSIM_H x, CUSIM_H y) : x(x), y(y)
    {
    }
};

/* ---- conversions ----------------------------------------------------------------- */

#define CUSIM_PAIR_FROM(type, rest) CUSIM_PASTE(__##type##2, CUSIM_NAME, 2, rest)

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(make_, CUSIM_NAME, 2, )(CUSIM_H x, CUSIM_H y)
{
    return {x, y};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__halves2, CUSIM_NAME, 2, )(CUSIM_H x, CUSIM_H y)
{
    return {x, y};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__, CUSIM_NAME, 2, CUSIM_PAIR)(CUSIM_H x)
{
    return {x, x};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PAIR_FROM(float, _rn)(float x)
{
    return {CUSIM_H(x), CUSIM_H(x)};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PAIR_FROM(floats, _rn)(float x, float y)
{
    return {CUSIM_H(x), CUSIM_H(y)};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__float22, CUSIM_NAME, 2, _rn)(float2 pair)
{
    return {CUSIM_H(pair.x), CUSIM_H(pair.y)};
}

CUSIM_INLINE float2 CUSIM_PASTE(__, CUSIM_NAME, 22, float2)(CUSIM_H2 pair)
{
    return {float(pair.x), float(pair.y)};
}

CUSIM_INLINE float __low2float(CUSIM_H2 pair)
{
    return float(pair.x);
}

CUSIM_INLINE float __high2float(CUSIM_H2 pair)
{
    return float(pair.y);
}

CUSIM_INLINE CUSIM_H CUSIM_PASTE(__low2, CUSIM_NAME, , )(CUSIM_H2 pair)
{
    return pair.x;
}

CUSIM_INLINE CUSIM_H CUSIM_PASTE(__high2, CUSIM_NAME, , )(CUSIM_H2 pair)
{
    return pair.y;
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__low2, CUSIM_NAME, 2, )(CUSIM_H2 pair)
{
    return {pair.x, pair.x};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__high2, CUSIM_NAME, 2, )(CUSIM_H2 pair)
{
    return {pair.y, pair.y};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__lows2, CUSIM_NAME, 2, )(CUSIM_H2 a, CUSIM_H2 b)
{
    return {a.x, b.x};
}

CUSIM_INLINE CUSIM_H2 CUSIM_PASTE(__highs2, CUSIM_NAME, 2, )(CUSIM_H2 a, CUSIM_H2 b)
{
    return {a.y, b.y};
}

CUSIM_INLINE CUSIM_H2 __lowhigh2highlow(CUSIM_H2 pair)
{
    return {pair.y, pair.x};
}
#undef CUSIM_PAIR_FROM

/* ---- arithmetic ------------------------------------------------------------------ */

#define CUSIM_ONE(name, scalar)                                                        \
    CUSIM_INLINE CUSIM_H2 name(CUSIM_H2 a)                                             \
    {                                                                                  \
        return {scalar(a.x), scalar(a.y)};                                             \
    }
#define CUSIM_TWO(name, scalar)                                                        \
    CUSIM_INLINE CUSIM_H2 name(CUSIM_H2 a, CUSIM_H2 b)                                 \
    {                                                                                  \
        return {scalar(a.x, b.x), scalar(a.y, b.y)};                                   \
    }
#define CUSIM_THREE(name, scalar)                                                      \
    CUSIM_INLINE CUSIM_H2 name(CUSIM_H2 a, CUSIM_H2 b, CUSIM_H2 c)                     \
    {                                                                                  \
        return {scalar(a.x, b.x, c.x), scalar(a.y, b.y, c.y)};                         \
    }
#define CUSIM_SUM(name, sign)                                                          \
    CUSIM_TWO(__h##name##2, __h##name)                                                 \
    CUSIM_TWO(__h##name##2_rn, __h##name)                                              \
    CUSIM_TWO(__h##name##2_sat, __h##name##_sat)                                       \
    CUSIM_TWO(operator sign, __h##name)                                                \
    CUSIM_INLINE CUSIM_H2 &operator sign##=(CUSIM_H2 &a, CUSIM_H2 b)                   \
    {                                                                                  \
        return a = a sign b;                                                           \
    }
CUSIM_SUM(add, +)
CUSIM_SUM(sub, -)
CUSIM_SUM(mul, *)
CUSIM_TWO(__h2div, __hdiv)
CUSIM_TWO(operator/, __hdiv)
CUSIM_TWO(__hmin2, __hmin)
CUSIM_TWO(__hmax2, __hmax)
CUSIM_TWO(__hmin2_nan, __hmin_nan)
CUSIM_TWO(__hmax2_nan, __hmax_nan)
CUSIM_THREE(__hfma2, __hfma)
CUSIM_THREE(__hfma2_sat, __hfma_sat)
CUSIM_THREE(__hfma2_relu, __hfma_relu)
CUSIM_ONE(__hneg2, __hneg)
CUSIM_ONE(__habs2, __habs)
CUSIM_ONE(operator-, __hneg)
CUSIM_ONE(h2ceil, hceil)
CUSIM_ONE(h2floor, hfloor)
CUSIM_ONE(h2trunc, htrunc)
CUSIM_ONE(h2rint, hrint)
CUSIM_ONE(h2sqrt, hsqrt)
CUSIM_ONE(h2rsqrt, hrsqrt)
CUSIM_ONE(h2rcp, hrcp)
CUSIM_ONE(h2exp, hexp)
CUSIM_ONE(h2exp2, hexp2)
CUSIM_ONE(h2exp10, hexp10)
CUSIM_ONE(h2log, hlog)
CUSIM_ONE(h2log2, hlog2)
CUSIM_ONE(h2log10, hlog10)
CUSIM_ONE(h2sin, hsin)
CUSIM_ONE(h2cos, hcos)
CUSIM_ONE(h2tanh, htanh)
#undef CUSIM_SUM
#undef CUSIM_THREE
#undef CUSIM_TWO
#undef CUSIM_ONE

CUSIM_INLINE CUSIM_H2 &operator/=(CUSIM_H2 &a, CUSIM_H2 b)
{
    return a = a / b;
}

/* ---- comparisons ----------------------------------------------------------------- */

/* Defines three forms of a comparison. __heq2 returns a pair of 1 and 0. __hbeq2
 * returns whether both comparisons are true. __heq2_mask returns a mask of bits. */
#define CUSIM_COMPARE(name)                                                            \
    CUSIM_INLINE CUSIM_H2 __h##name##2(CUSIM_H2 a, CUSIM_H2 b)                         \
    {                                                                                  \
        return {CUSIM_H(float(__h##name(a.x, b.x))),                                   \
                CUSIM_H(float(__h##name(a.y, b.y)))};                                  \
    }                                                                                  \
    CUSIM_INLINE bool __hb##name##2(CUSIM_H2 a, CUSIM_H2 b)                            \
    {                                                                                  \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                             \
    }                                                                                  \
    CUSIM_INLINE unsigned __h##name##2_mask(CUSIM_H2 a, CUSIM_H2 b)                    \
    {                                                                                  \
        return (__h##name(a.x, b.x) ? 0xffffu : 0) |                                   \
               (__h##name(a.y, b.y) ? 0xffff0000u : 0);                                \
    }
CUSIM_COMPARE(eq)
CUSIM_COMPARE(ne)
CUSIM_COMPARE(lt)
CUSIM_COMPARE(le)
CUSIM_COMPARE(gt)
CUSIM_COMPARE(ge)
CUSIM_COMPARE(equ)
CUSIM_COMPARE(neu)
CUSIM_COMPARE(ltu)
CUSIM_COMPARE(leu)
CUSIM_COMPARE(gtu)
CUSIM_COMPARE(geu)
#undef CUSIM_COMPARE

#define CUSIM_OPERATOR(sign, name)                                                     \
    CUSIM_INLINE bool operator sign(CUSIM_H2 a, CUSIM_H2 b)                            \
    {                                                                                  \
        return __hb##name##2(a, b);                                                    \
    }
CUSIM_COMPARISONS(CUSIM_OPERATOR)
#undef CUSIM_OPERATOR

CUSIM_INLINE CUSIM_H2 __hisnan2(CUSIM_H2 a)
{
    return {CUSIM_H(float(__hisnan(a.x))), CUSIM_H(float(__hisnan(a.y)))};
}

CUSIM_SHUFFLES(CUSIM_H2)
CUSIM_ATOMIC(atomicAdd, CUSIM_H2, a + b)

#undef CUSIM_COMPARISONS
#undef CUSIM_PASTE4
#undef CUSIM_PASTE
#undef CUSIM_FROM
#undef CUSIM_INTO
#undef CUSIM_H
#undef CUSIM_H2
#undef CUSIM_RAW
#undef CUSIM_NAME
#undef CUSIM_PAIR
#undef CUSIM_FORMAT
