// SPDX-License-Identifier: MIT
/* integers.h - CUDA's functions on the bits of integers, and its min and max
 *
 * On a GPU each function is one or two instructions. No kernel includes this header.
 */
#ifndef CUSIM_INTEGERS_H
#define CUSIM_INTEGERS_H

#include <cstdint>

#include "marks.h"

/* ---- bits ------------------------------------------------------------------------ */

CUSIM_INLINE int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

CUSIM_INLINE int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

CUSIM_INLINE int __clz(int x)  // zeros above the first 1; of 0 all
{
    return x == 0 ? 32 : __builtin_clz(unsigned(x));
}

CUSIM_INLINE int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}

CUSIM_INLINE int __ffs(int x)  // place of the last 1, from 1; of 0 it is 0
{
    return __builtin_ffs(x);
}

CUSIM_INLINE int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}

/* Returns the position of the n-th 1 of `mask` from bit `base`, n = offset. If n > 0,
 * it counts upwards; if n < 0, downwards; if n = 0, it tests the bit `base`. If there
 * is no such 1, the result has all bits set. */
inline unsigned __fns(unsigned mask, unsigned base, int offset)
{
    int left = offset < 0 ? -offset : offset;
    if (left == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
    for (int bit = int(base); bit >= 0 && bit < 32; bit += offset < 0 ? -1 : 1)
        if ((mask >> bit & 1) != 0 && --left == 0) return unsigned(bit);
    return 0xffffffffu;
}

/* The low digits of s choose four of the eight bytes of y:x. If bit 3 of a digit is
 * set, all bits of the result byte are the chosen byte's sign. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    const uint64_t bytes = uint64_t(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned digit = s >> 4 * i & 15;
        unsigned byte = bytes >> 8 * (digit & 7) & 0xff;
        if (digit & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

/* Shifts the 64 bits hi:lo. A left shift returns the upper word, a right shift the
 * lower word. The shift is taken modulo 32, or limited to 32 (_lc, _rc). */
CUSIM_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return unsigned(((uint64_t(hi) << 32 | lo) << (shift & 31)) >> 32);
}

CUSIM_INLINE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}

CUSIM_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return unsigned((uint64_t(hi) << 32 | lo) >> (shift & 31));
}

CUSIM_INLINE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}

/* ---- products and sums ----------------------------------------------------------- */

CUSIM_INLINE int __mul24(int x, int y)  // of the low 24 bits of each
{
    return int(int64_t(int(unsigned(x) << 8) >> 8) * (int(unsigned(y) << 8) >> 8));
}

CUSIM_INLINE unsigned __umul24(unsigned x, unsigned y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}

CUSIM_INLINE int __mulhi(int x, int y)
{
    return int(int64_t(x) * y >> 32);
}

CUSIM_INLINE unsigned __umulhi(unsigned x, unsigned y)
{
    return unsigned(uint64_t(x) * y >> 32);
}

CUSIM_INLINE long long __mul64hi(long long x, long long y)
{
    __extension__ typedef __int128 Wide;
    return (long long)(Wide(x) * y >> 64);
}

CUSIM_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    __extension__ typedef unsigned __int128 Wide;
    return (unsigned long long)(Wide(x) * y >> 64);
}

CUSIM_INLINE unsigned __sad(int x, int y, unsigned z)  // |x - y| + z
{
    return z + (x > y ? unsigned(x) - unsigned(y) : unsigned(y) - unsigned(x));
}

CUSIM_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z)
{
    return z + (x > y ? x - y : y - x);
}

CUSIM_INLINE int __hadd(int x, int y)  // the mean, rounded down; __rhadd: up
{
    return int((int64_t(x) + y) >> 1);
}

CUSIM_INLINE int __rhadd(int x, int y)
{
    return int((int64_t(x) + y + 1) >> 1);
}

CUSIM_INLINE unsigned __uhadd(unsigned x, unsigned y)
{
    return unsigned((uint64_t(x) + y) >> 1);
}

CUSIM_INLINE unsigned __urhadd(unsigned x, unsigned y)
{
    return unsigned((uint64_t(x) + y + 1) >> 1);
}

inline int __dp4a(int a, int b, int c)  // c + the dot product of four bytes
{
    unsigned sum = unsigned(c);
    for (int i = 0; i < 32; i += 8)
        sum += unsigned(int8_t(unsigned(a) >> i) * int8_t(unsigned(b) >> i));
    return int(sum);
}

inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
    return c;
}

/* ---- min and max ----------------------------------------------------------------- */

/* Defines min and max only for CUDA's pairs of types: what nvcc finds ambiguous is also
 * ambiguous here. A signed and an unsigned number are both taken as unsigned. */
#define CUSIM_MIN_MAX(result, left, right)                                             \
    CUSIM_INLINE result min(left a, right b)                                           \
    {                                                                                  \
        return result(a) < result(b) ? result(a) : result(b);                          \
    }                                                                                  \
    CUSIM_INLINE result max(left a, right b)                                           \
    {                                                                                  \
        return result(a) > result(b) ? result(a) : result(b);                          \
    }
#define CUSIM_MIN_MAX_OF(whole)                                                        \
    CUSIM_MIN_MAX(whole, whole, whole)                                                 \
    CUSIM_MIN_MAX(unsigned_##whole, unsigned_##whole, unsigned_##whole)                \
    CUSIM_MIN_MAX(unsigned_##whole, whole, unsigned_##whole)                           \
    CUSIM_MIN_MAX(unsigned_##whole, unsigned_##whole, whole)

namespace cusim
{
namespace integers
{
typedef unsigned unsigned_int;
typedef unsigned long unsigned_long;
typedef long long long_long;
typedef unsigned long long unsigned_long_long;
CUSIM_MIN_MAX_OF(int)
CUSIM_MIN_MAX_OF(long)
CUSIM_MIN_MAX_OF(long_long)
}  // namespace integers
}  // namespace cusim
#undef CUSIM_MIN_MAX_OF
#undef CUSIM_MIN_MAX

using cusim::integers::max;
using cusim::integers::min;

CUSIM_INLINE unsigned umin(unsigned a, unsigned b)
{
    return min(a, b);
}

CUSIM_INLINE unsigned umax(unsigned a, unsigned b)
{
    return max(a, b);
}

CUSIM_INLINE long long llmin(long long a, long long b)
{
    return min(a, b);
}

CUSIM_INLINE long long llmax(long long a, long long b)
{
    return max(a, b);
}

CUSIM_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b)
{
    return min(a, b);
}

CUSIM_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b)
{
    return max(a, b);
}

#endif
