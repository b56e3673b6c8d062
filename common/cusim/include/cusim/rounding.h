// SPDX-License-Identifier: MIT
/* rounding.h - numbers of one format turned into another, rounded as the card does
 *
 * gcc 12 has no 16-bit floating-point type in C++ on x86-64. If a number does not fit
 * into an int, a C++ cast is undefined, but a GPU's result is defined. So this file
 * converts bit by bit, with the same results for every compiler and processor.
 */
#ifndef CUSIM_ROUNDING_H
#define CUSIM_ROUNDING_H

#include <cstdint>

#include "marks.h"

namespace cusim
{

enum class Toward { nearest, zero, up, down };  // nearest: a tie goes to the even one

CUSIM_INLINE uint32_t bits_of(float x)
{
    return __builtin_bit_cast(uint32_t, x);
}

CUSIM_INLINE float float_of(uint32_t bits)
{
    return __builtin_bit_cast(float, bits);
}

/* The format IEEE binary16: 1 sign bit, 5 exponent bits, 10 mantissa bits. */
struct HalfFormat {
    static CUSIM_INLINE float decode(uint16_t half)
    {
        // the exponent's bias grows from 15 to 127, exactly, for subnormals too
        const float moved = float_of((half & 0x7fffu) << 13) * 0x1p112f;
        const uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
        return float_of(bits_of(moved) | special | (half & 0x8000u) << 16);
    }

    static CUSIM_INLINE uint16_t encode(float x)
    {
        const uint32_t sign = bits_of(x) >> 16 & 0x8000;
        const uint32_t size = bits_of(x) & 0x7fffffff;
        if (size > 0x7f800000) return 0x7fff;                    // the card's only NaN
        if (size >= 0x47800000) return uint16_t(sign | 0x7c00);  // 65536 and above
        if (size < 0x38800000) {  // below 2^-14: the adder rounds to multiples of 2^-24
            const uint32_t sum = bits_of(float_of(size) + 0.5f);
            return uint16_t(sign | (sum - 0x3f000000));
        }
        const uint32_t odd = size >> 13 & 1;
        return uint16_t(sign | (size - 0x38000000 + 0xfff + odd) >> 13);
    }
};

/* The format bfloat16: the upper half of a float. */
struct BfloatFormat {
    static CUSIM_INLINE float decode(uint16_t bfloat)
    {
        return float_of(uint32_t(bfloat) << 16);
    }

    static CUSIM_INLINE uint16_t encode(float x)
    {
        const uint32_t bits = bits_of(x);
        if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
        return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
};

/* Rounds x to TF32: 10 mantissa bits, ties away from zero (cvt.rna.tf32.f32). */
CUSIM_INLINE float to_tf32(float x)
{
    const uint32_t bits = bits_of(x);
    if ((bits & 0x7f800000) == 0x7f800000) return x;
    return float_of((bits + 0x1000) & 0xffffe000);
}

/* Returns x as a tensor core reads it in TF32: without the low 13 bits. */
CUSIM_INLINE float cut_tf32(float x)
{
    return float_of(bits_of(x) & 0xffffe000);
}

/* Returns x if x is exactly a float, else the float beside x with last bit 1. If this
 * float is rounded to a format with 2 bits less, the result is x rounded once.
 */
inline float odd_float(double x)
{
    const float near = float(x);
    if (double(near) == x || x != x) return near;
    uint32_t bits = bits_of(near);
    if (__builtin_fabs(double(near)) > __builtin_fabs(x)) bits--;
    return float_of(bits | 1);
}

/* Returns a * b + c as a double rounded to odd (see odd_float); a * b must be exact. */
inline double odd_fma(double a, double b, double c)
{
    const double product = a * b, sum = product + c, back = sum - product;
    const double error = (product - (sum - back)) + (c - back);
    if (error == 0 || error != error) return sum;
    const int64_t bits = __builtin_bit_cast(int64_t, sum);
    if (bits & 1) return sum;
    return __builtin_bit_cast(double, bits + ((error > 0) == (sum > 0) ? 1 : -1));
}

/* Returns the integer x as a double rounded to odd (see odd_float). */
inline double odd_double(uint64_t x)
{
    if (x >> 53 != 0) x = (x & ~uint64_t(2047)) | ((x & 2047) != 0 ? 2048 : 0);
    return double(x);
}

inline double odd_double(int64_t x)
{
    return x < 0 ? -odd_double(0 - uint64_t(x)) : odd_double(uint64_t(x));
}

/* Returns the bits of x in a 16-bit format, rounded once. */
template <class Format> uint16_t encode(double x, Toward way)
{
    const float odd = odd_float(x);
    uint16_t bits = Format::encode(odd);
    if (way == Toward::nearest || x != x) return bits;
    const double got = __builtin_fabs(double(Format::decode(bits)));
    const bool away = way != Toward::zero && (way == Toward::down) == (bits >> 15 != 0);
    if (got > __builtin_fabs(x) && !away) bits--;
    if (got < __builtin_fabs(x) && away) bits++;
    return bits;
}

/* Returns x as an integer. If x does not fit, the result is the nearest integer that
 * fits. NaN becomes 0. If x is a double, or I has 64 bits, NaN becomes only the first
 * bit (PTX, cvt). */
template <class I> I to_integer(double x, Toward way, bool from_double)
{
    constexpr int width = 8 * sizeof(I);
    constexpr bool is_signed = I(-1) < I(0);
    constexpr uint64_t first = uint64_t(1) << (width - 1);
    constexpr uint64_t largest = is_signed ? first - 1 : first - 1 + first;
    if (x != x) return from_double || width == 64 ? I(first) : I(0);
    double whole = __builtin_trunc(x);
    if (way == Toward::nearest) whole = __builtin_nearbyint(x);
    if (way == Toward::up) whole = __builtin_ceil(x);
    if (way == Toward::down) whole = __builtin_floor(x);
    if (whole >= double(first) * (is_signed ? 1 : 2)) return I(largest);
    if (whole < (is_signed ? -double(first) : 0.0)) return I(is_signed ? first : 0);
    return I(whole);
}

CUSIM_INLINE float next(float x, float goal)
{
    return __builtin_nextafterf(x, goal);
}

CUSIM_INLINE double next(double x, double goal)
{
    return __builtin_nextafter(x, goal);
}

/* Returns the double x as a float, rounded once. */
inline float narrowed(double x, Toward way)
{
    const float near = float(x);
    const bool up = way == Toward::up || (way == Toward::zero && x < 0);
    if (way == Toward::nearest || double(near) == x || x != x) return near;
    if (up && double(near) < x) return next(near, __builtin_inff());
    if (!up && double(near) > x) return next(near, -__builtin_inff());
    return near;
}

/* Returns the integer x as a float or double, rounded once. */
template <class F, class I> F from_integer(I x, Toward way)
{
    __extension__ typedef __int128 Wide;  // has every value of both
    F near = F(x);
    if (way == Toward::nearest) return near;
    const Wide got = Wide(near), want = Wide(x);
    const bool up = way == Toward::up || (way == Toward::zero && want < 0);
    if (up && got < want) return next(near, F(1e30));
    if (!up && got > want) return next(near, F(-1e30));
    return near;
}

}  // namespace cusim

#endif
