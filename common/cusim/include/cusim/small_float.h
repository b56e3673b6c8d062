// SPDX-License-Identifier: MIT
/* small_float.h - a 16-bit floating-point type: the number, its conversions, arithmetic
 *
 * This header has no include guard: cuda_fp16.h and cuda_bf16.h include it, and define:
 *
 *   CUSIM_H       the type                    __half               __nv_bfloat16
 *   CUSIM_RAW     a struct of its bits        __half_raw           __nv_bfloat16_raw
 *   CUSIM_NAME    its name in functions       half                 bfloat16
 *   CUSIM_FORMAT  where its bits are known    cusim::HalfFormat    cusim::BfloatFormat
 *
 * Every result is the exact result, rounded once to the nearest, ties to even. A GPU
 * rounds in the same way. A NaN has the bits 0x7fff. (exp, log and similar functions
 * round the result in double.) Arguments are passed by value, so that the caller loads
 * a[i].
 */

#define CUSIM_PASTE4(a, b, c, d)   a##b##c##d
#define CUSIM_PASTE(a, b, c, d)    CUSIM_PASTE4(a, b, c, d)
#define CUSIM_FROM(type, rounding) CUSIM_PASTE(__, type##2, CUSIM_NAME, rounding)
#define CUSIM_INTO(type)           CUSIM_PASTE(__, CUSIM_NAME, 2, type)

struct CUSIM_RAW {
    unsigned short x;
};

struct CUSIM_H {
    unsigned short bits;

    CUSIM_H() = default;  // trivial: memory of any kind holds it without a constructor

    CUSIM_INLINE CUSIM_H(CUSIM_RAW raw) : bits(raw.x)
    {
    }
    CUSIM_INLINE CUSIM_H(float x) : bits(CUSIM_FORMAT::encode(x))
    {
    }
    CUSIM_INLINE CUSIM_H(double x)
        : bits(cusim::encode<CUSIM_FORMAT>(x, cusim::Toward::nearest))
    {
    }
    CUSIM_INLINE operator CUSIM_RAW() const
    {
        return {bits};
    }
    CUSIM_INLINE operator float() const
    {
        return CUSIM_FORMAT::decode(bits);
    }
    CUSIM_INLINE operator bool() const
    {
        return (bits & 0x7fff) != 0;
    }

#define CUSIM_WITH(type, wide)                                                         \
    CUSIM_INLINE CUSIM_H(type x) : CUSIM_H(cusim::odd_double(wide(x)))                 \
    {                                                                                  \
    }                                                                                  \
    CUSIM_TO(type)
#define CUSIM_TO(type)                                                                 \
    CUSIM_INLINE operator type() const                                                 \
    {                                                                                  \
        return cusim::to_integer<type>(float(*this), cusim::Toward::zero, false);      \
    }
    CUSIM_WITH(short, int64_t)
    CUSIM_WITH(unsigned short, uint64_t)
    CUSIM_WITH(int, int64_t)
    CUSIM_WITH(unsigned, uint64_t)
    CUSIM_WITH(long, int64_t)
    CUSIM_WITH(unsigned long, uint64_t)
    CUSIM_WITH(long long, int64_t)
    CUSIM_WITH(unsigned long long, uint64_t)
    CUSIM_TO(char)
    CUSIM_TO(signed char)
    CUSIM_TO(unsigned char)
#undef CUSIM_TO
#undef CUSIM_WITH
};

/* ---- conversions ----------------------------------------------------------------- */

CUSIM_INLINE float CUSIM_INTO(float)(CUSIM_H x)
{
    return float(x);
}

CUSIM_INLINE CUSIM_H CUSIM_FROM(float, )(float x)
{
    return CUSIM_H(x);
}

CUSIM_INLINE CUSIM_H CUSIM_FROM(double, )(double x)
{
    return CUSIM_H(x);
}

CUSIM_INLINE short CUSIM_PASTE(__, CUSIM_NAME, _as_, short)(CUSIM_H x)
{
    return short(x.bits);
}

CUSIM_INLINE unsigned short CUSIM_PASTE(__, CUSIM_NAME, _as_, ushort)(CUSIM_H x)
{
    return x.bits;
}

CUSIM_INLINE CUSIM_H CUSIM_PASTE(__, short_as_, CUSIM_NAME, )(short x)
{
    return CUSIM_H(CUSIM_RAW{(unsigned short)x});
}

CUSIM_INLINE CUSIM_H CUSIM_PASTE(__, ushort_as_, CUSIM_NAME, )(unsigned short x)
{
    return CUSIM_H(CUSIM_RAW{x});
}

/* Defines __int2half_rn, __half2int_rn and similar conversions. */
#define CUSIM_INTEGER(type, whole, wide, way, toward)                                  \
    inline CUSIM_H CUSIM_FROM(type, _##way)(whole x)                                   \
    {                                                                                  \
        return CUSIM_H(CUSIM_RAW{cusim::encode<CUSIM_FORMAT>(                          \
            cusim::odd_double(wide(x)), cusim::Toward::toward)});                      \
    }                                                                                  \
    inline whole CUSIM_INTO(type##_##way)(CUSIM_H x)                                   \
    {                                                                                  \
        return cusim::to_integer<whole>(float(x), cusim::Toward::toward, false);       \
    }
#define CUSIM_ROUNDED(way, toward)                                                     \
    inline CUSIM_H CUSIM_FROM(float, _##way)(float x)                                  \
    {                                                                                  \
        return CUSIM_H(                                                                \
            CUSIM_RAW{cusim::encode<CUSIM_FORMAT>(x, cusim::Toward::toward)});         \
    }                                                                                  \
    CUSIM_INTEGER(short, short, int64_t, way, toward)                                  \
    CUSIM_INTEGER(ushort, unsigned short, uint64_t, way, toward)                       \
    CUSIM_INTEGER(int, int, int64_t, way, toward)                                      \
    CUSIM_INTEGER(uint, unsigned, uint64_t, way, toward)                               \
    CUSIM_INTEGER(ll, long long, int64_t, way, toward)                                 \
    CUSIM_INTEGER(ull, unsigned long long, uint64_t, way, toward)
CUSIM_ROUNDED(rn, nearest)
CUSIM_ROUNDED(rz, zero)
CUSIM_ROUNDED(ru, up)
CUSIM_ROUNDED(rd, down)
#undef CUSIM_ROUNDED
#undef CUSIM_INTEGER

inline signed char CUSIM_INTO(char_rz)(CUSIM_H x)
{
    return (signed char)x;
}

inline unsigned char CUSIM_INTO(uchar_rz)(CUSIM_H x)
{
    return (unsigned char)x;
}

/* ---- comparisons: with a NaN false; those that end in u true --------------------- */

#define CUSIM_COMPARE(name, sign, opposite)                                            \
    CUSIM_INLINE bool __h##name(CUSIM_H a, CUSIM_H b)                                  \
    {                                                                                  \
        return float(a) sign float(b);                                                 \
    }                                                                                  \
    CUSIM_INLINE bool __h##name##u(CUSIM_H a, CUSIM_H b)                               \
    {                                                                                  \
        return !(float(a) opposite float(b));                                          \
    }
CUSIM_COMPARE(lt, <, >=)
CUSIM_COMPARE(le, <=, >)
CUSIM_COMPARE(gt, >, <=)
CUSIM_COMPARE(ge, >=, <)
#undef CUSIM_COMPARE

CUSIM_INLINE bool __hisnan(CUSIM_H x)
{
    return float(x) != float(x);
}

CUSIM_INLINE int __hisinf(CUSIM_H x)  // 1, -1 or 0
{
    if (!(__builtin_fabsf(float(x)) == __builtin_inff())) return 0;
    return x.bits >> 15 ? -1 : 1;
}

CUSIM_INLINE bool __heq(CUSIM_H a, CUSIM_H b)
{
    return float(a) == float(b);
}

CUSIM_INLINE bool __hequ(CUSIM_H a, CUSIM_H b)
{
    return float(a) == float(b) || __hisnan(a) || __hisnan(b);
}

CUSIM_INLINE bool __hne(CUSIM_H a, CUSIM_H b)
{
    return float(a) < float(b) || float(a) > float(b);
}

CUSIM_INLINE bool __hneu(CUSIM_H a, CUSIM_H b)
{
    return float(a) != float(b);
}

/* ---- arithmetic ------------------------------------------------------------------ */

CUSIM_INLINE CUSIM_H __hneg(CUSIM_H x)
{
    return CUSIM_H(CUSIM_RAW{(unsigned short)(x.bits ^ 0x8000)});
}

CUSIM_INLINE CUSIM_H __habs(CUSIM_H x)
{
    return CUSIM_H(CUSIM_RAW{(unsigned short)(x.bits & 0x7fff)});
}

namespace cusim
{
CUSIM_INLINE CUSIM_H saturated(CUSIM_H x)  // within 0 to 1; NaN becomes 0
{
    return float(x) > 0 ? (float(x) < 1 ? x : CUSIM_H(1.0f)) : CUSIM_H(0.0f);
}
}  // namespace cusim

/* Defines arithmetic in double: a double is so precise that its rounding never changes
 * the result. For sums a float is enough. */
#define CUSIM_ARITHMETIC(name, sign, wide)                                             \
    CUSIM_INLINE CUSIM_H __h##name(CUSIM_H a, CUSIM_H b)                               \
    {                                                                                  \
        return CUSIM_H(wide(float(a)) sign wide(float(b)));                            \
    }                                                                                  \
    CUSIM_INLINE CUSIM_H __h##name##_rn(CUSIM_H a, CUSIM_H b)                          \
    {                                                                                  \
        return __h##name(a, b);                                                        \
    }                                                                                  \
    CUSIM_INLINE CUSIM_H __h##name##_sat(CUSIM_H a, CUSIM_H b)                         \
    {                                                                                  \
        return cusim::saturated(__h##name(a, b));                                      \
    }                                                                                  \
    CUSIM_INLINE CUSIM_H operator sign(CUSIM_H a, CUSIM_H b)                           \
    {                                                                                  \
        return __h##name(a, b);                                                        \
    }                                                                                  \
    CUSIM_INLINE CUSIM_H &operator sign##=(CUSIM_H &a, CUSIM_H b)                      \
    {                                                                                  \
        return a = __h##name(a, b);                                                    \
    }
CUSIM_ARITHMETIC(add, +, float)
CUSIM_ARITHMETIC(sub, -, float)
CUSIM_ARITHMETIC(mul, *, double)
CUSIM_ARITHMETIC(div, /, double)
#undef CUSIM_ARITHMETIC

CUSIM_INLINE CUSIM_H __hfma(CUSIM_H a, CUSIM_H b, CUSIM_H c)
{
    return CUSIM_H(cusim::odd_fma(float(a), float(b), float(c)));
}

CUSIM_INLINE CUSIM_H __hfma_sat(CUSIM_H a, CUSIM_H b, CUSIM_H c)
{
    return cusim::saturated(__hfma(a, b, c));
}

CUSIM_INLINE CUSIM_H __hfma_relu(CUSIM_H a, CUSIM_H b, CUSIM_H c)
{
    const CUSIM_H x = __hfma(a, b, c);
    return float(x) < 0 ? CUSIM_H(0.0f) : x;
}

/* __hmin and __hmax of a number and a NaN return the number; functions ending in _nan
 * return the NaN. -0 < +0. */
CUSIM_INLINE CUSIM_H __hmin(CUSIM_H a, CUSIM_H b)
{
    if (__hisnan(a)) return __hisnan(b) ? CUSIM_H(CUSIM_RAW{0x7fff}) : b;
    if (float(a) == float(b)) return a.bits >> 15 ? a : b;
    return float(b) < float(a) ? b : a;
}

CUSIM_INLINE CUSIM_H __hmax(CUSIM_H a, CUSIM_H b)
{
    if (__hisnan(a)) return __hisnan(b) ? CUSIM_H(CUSIM_RAW{0x7fff}) : b;
    if (float(a) == float(b)) return a.bits >> 15 ? b : a;
    return float(b) > float(a) ? b : a;
}

CUSIM_INLINE CUSIM_H __hmin_nan(CUSIM_H a, CUSIM_H b)
{
    return __hisnan(a) || __hisnan(b) ? CUSIM_H(CUSIM_RAW{0x7fff}) : __hmin(a, b);
}

CUSIM_INLINE CUSIM_H __hmax_nan(CUSIM_H a, CUSIM_H b)
{
    return __hisnan(a) || __hisnan(b) ? CUSIM_H(CUSIM_RAW{0x7fff}) : __hmax(a, b);
}

/* ---- operators ------------------------------------------------------------------- */

#define CUSIM_COMPARISONS(each)                                                        \
    each(==, eq) each(!=, neu) each(<, lt) each(<=, le) each(>, gt) each(>=, ge)
#define CUSIM_OPERATOR(sign, name)                                                     \
    CUSIM_INLINE bool operator sign(CUSIM_H a, CUSIM_H b)                              \
    {                                                                                  \
        return __h##name(a, b);                                                        \
    }
CUSIM_COMPARISONS(CUSIM_OPERATOR)
#undef CUSIM_OPERATOR

CUSIM_INLINE CUSIM_H operator+(CUSIM_H x)
{
    return x;
}

CUSIM_INLINE CUSIM_H operator-(CUSIM_H x)
{
    return __hneg(x);
}

#define CUSIM_STEP(sign)                                                               \
    CUSIM_INLINE CUSIM_H &operator sign##sign(CUSIM_H &x)                              \
    {                                                                                  \
        return x = x sign CUSIM_H(1.0f);                                               \
    }                                                                                  \
    CUSIM_INLINE CUSIM_H operator sign##sign(CUSIM_H &x, int)                          \
    {                                                                                  \
        const CUSIM_H old = x;                                                         \
        x = x sign CUSIM_H(1.0f);                                                      \
        return old;                                                                    \
    }
CUSIM_STEP(+)
CUSIM_STEP(-)
#undef CUSIM_STEP

/* ---- functions ------------------------------------------------------------------- */

#define CUSIM_FUNCTION(name, formula)                                                  \
    inline CUSIM_H name(CUSIM_H argument)                                              \
    {                                                                                  \
        const double x = float(argument);                                              \
        return CUSIM_H(double(formula));                                               \
    }
CUSIM_FUNCTION(hceil, ceil(x))
CUSIM_FUNCTION(hfloor, floor(x))
CUSIM_FUNCTION(htrunc, trunc(x))
CUSIM_FUNCTION(hrint, rint(x))
CUSIM_FUNCTION(hsqrt, sqrt(x))
CUSIM_FUNCTION(hrsqrt, 1 / sqrt(x))
CUSIM_FUNCTION(hrcp, 1 / x)
CUSIM_FUNCTION(hexp, exp(x))
CUSIM_FUNCTION(hexp2, exp2(x))
CUSIM_FUNCTION(hexp10, pow(10.0, x))
CUSIM_FUNCTION(hlog, log(x))
CUSIM_FUNCTION(hlog2, log2(x))
CUSIM_FUNCTION(hlog10, log10(x))
CUSIM_FUNCTION(hsin, sin(x))
CUSIM_FUNCTION(hcos, cos(x))
CUSIM_FUNCTION(htanh, tanh(x))
#undef CUSIM_FUNCTION

/* ---- shuffles and atomics -------------------------------------------------------- */

CUSIM_SHUFFLES(CUSIM_H)
CUSIM_ATOMIC(atomicAdd, CUSIM_H, a + b)
