// SPDX-License-Identifier: MIT
/* numbers.cu - half, bfloat16, roundings and integers against their definitions
 *
 * All 65,536 numbers of both 16-bit types, every tie between two of them, and sums,
 * products and quotients of random ones, each rounded here by a search for the nearest.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

#include "tally.h"

/* ---- the two types, from the meaning of their bits ------------------------------- */

/* A type with FRACTION bits behind the point, whose smallest number is 2^LEAST. */
template <int FRACTION, int LEAST> struct Format {
    static constexpr unsigned infinity = 0x8000 - (1 << FRACTION);

    static __device__ double meaning(unsigned bits)
    {
        const int exponent = (bits & 0x7fff) >> FRACTION;
        const int mantissa = bits & ((1 << FRACTION) - 1);
        const double whole = exponent == 0 ? mantissa : (1 << FRACTION) + mantissa;
        const double size = ldexp(whole, max(exponent, 1) + LEAST - 1);
        return bits >> 15 ? -size : size;
    }
};

/* What CUDA calls the conversions of a type: its name stands in each of them. */
#define CONVERSIONS(TYPE, NAME)                                                        \
    typedef TYPE type;                                                                 \
    static __device__ TYPE of(unsigned bits)                                           \
    {                                                                                  \
        return __ushort_as_##NAME((unsigned short)bits);                               \
    }                                                                                  \
    static __device__ unsigned bits(TYPE x)                                            \
    {                                                                                  \
        return __##NAME##_as_ushort(x);                                                \
    }                                                                                  \
    static __device__ float wide(TYPE x)                                               \
    {                                                                                  \
        return __##NAME##2float(x);                                                    \
    }                                                                                  \
    static __device__ TYPE from(float x)                                               \
    {                                                                                  \
        return __float2##NAME##_rn(x);                                                 \
    }                                                                                  \
    static __device__ TYPE from(double x)                                              \
    {                                                                                  \
        return __double2##NAME(x);                                                     \
    }                                                                                  \
    static __device__ TYPE toward_zero(float x)                                        \
    {                                                                                  \
        return __float2##NAME##_rz(x);                                                 \
    }                                                                                  \
    static __device__ TYPE up(float x)                                                 \
    {                                                                                  \
        return __float2##NAME##_ru(x);                                                 \
    }                                                                                  \
    static __device__ TYPE down(float x)                                               \
    {                                                                                  \
        return __float2##NAME##_rd(x);                                                 \
    }

struct Half : Format<10, -24> {
    CONVERSIONS(__half, half)
};

struct Bfloat : Format<7, -133> {
    CONVERSIONS(__nv_bfloat16, bfloat16)
};

/* The bits of the number nearest to x; of two, the even one. */
template <class F> __device__ unsigned nearest(double x)
{
    const double size = fabs(x);
    unsigned low = 0,
             high = F::infinity;  // meaning(low) <= size, if not larger than all
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (F::meaning(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double tie = (F::meaning(low) + F::meaning(low + 1)) / 2;
    const bool up = size > tie || (size == tie && low % 2 == 1);
    return (signbit(x) ? 0x8000 : 0) | (low + (up ? 1 : 0));
}

/* ---- conversions ----------------------------------------------------------------- */

template <class F> __global__ void every_number(Tally *tally)
{
    const unsigned bits = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned size = bits & 0x7fff;
    const typename F::type x = F::of(bits);
    CHECK(F::bits(x) == bits && sizeof x == 2);
    if (size > F::infinity) {
        CHECK(isnan(F::wide(x)) && __hisnan(x) && !(x == x) && x != x);
        CHECK(__hisnan(F::from(F::wide(x))) && __hisnan(x + x));
        return;
    }
    const double meaning =
        size == F::infinity ? (bits >> 15 ? -HUGE_VAL : HUGE_VAL) : F::meaning(bits);
    CHECK(double(F::wide(x)) == meaning && signbit(F::wide(x)) == (bits >> 15 != 0));
    CHECK(F::bits(F::from(F::wide(x))) == bits);
    CHECK(F::bits(F::from(meaning)) == bits);
    CHECK(F::bits(-x) == (bits ^ 0x8000) && F::bits(__habs(x)) == size);
    if (size < F::infinity) CHECK(nearest<F>(meaning) == bits);
}

/* Between each number and the next: the tie and what is beside it. */
template <class F> __global__ void every_tie(Tally *tally)
{
    const unsigned low = blockIdx.x * blockDim.x + threadIdx.x, high = low + 1;
    if (low >= F::infinity) return;
    const unsigned even = low % 2 == 0 ? low : high;
    const double tie = (F::meaning(low) + F::meaning(high)) / 2;
    const float middle = float(tie);  // exact
    const float below = nextafterf(middle, 0.0f), above = nextafterf(middle, HUGE_VALF);
    CHECK(double(middle) == tie);
    CHECK(F::bits(F::from(middle)) == even &&
          F::bits(F::from(-middle)) == (even | 0x8000));
    CHECK(F::bits(F::from(below)) == low && F::bits(F::from(-below)) == (low | 0x8000));
    CHECK(F::bits(F::from(above)) == high &&
          F::bits(F::from(-above)) == (high | 0x8000));
    CHECK(F::bits(F::from(tie)) == even);
    CHECK(F::bits(F::from(nextafter(tie, 0.0))) == low);  // a float cannot tell these
    CHECK(F::bits(F::from(nextafter(tie, 1e300))) == high);
    CHECK(F::bits(F::from(nextafter(-tie, -1e300))) == (high | 0x8000));
    CHECK(F::bits(F::toward_zero(above)) == low);
    CHECK(F::bits(F::toward_zero(-above)) == (low | 0x8000));
    CHECK(F::bits(F::up(below)) == high && F::bits(F::up(-below)) == (low | 0x8000));
    CHECK(F::bits(F::down(above)) == low &&
          F::bits(F::down(-above)) == (high | 0x8000));
}

/* ---- arithmetic ------------------------------------------------------------------ */

__device__ unsigned random_bits(unsigned &state)
{
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

/* Whether a + b is exact: then nothing is lost before the one rounding. */
__device__ bool exact_sum(double a, double b)
{
    const double sum = __dadd_rn(a, b), back = __dsub_rn(sum, a);
    return __dsub_rn(a, __dsub_rn(sum, back)) == 0 && __dsub_rn(b, back) == 0;
}

template <class F> __global__ void random_pairs(Tally *tally)
{
    unsigned state = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (int i = 0; i < 64; i++) {
        const unsigned p = random_bits(state), q = random_bits(state);
        const unsigned r = i % 2 ? random_bits(state) : (p + (q & 0xfff)) & 0xffff;
        const typename F::type a = F::of(p), b = F::of(q), c = F::of(r);
        if (max(max(p & 0x7fff, q & 0x7fff), r & 0x7fff) >= F::infinity) continue;
        const double x = F::meaning(p), y = F::meaning(q), z = F::meaning(r);
        if (exact_sum(x, z)) {
            CHECK(F::bits(__hadd(a, c)) == nearest<F>(x + z));
            CHECK(F::bits(a - c) == F::bits(a + -c));
        }
        CHECK(F::bits(a * b) == nearest<F>(x * y));
        if (exact_sum(x * y, z)) {
            const double sum = x * y + z;
            CHECK(F::bits(__hfma(a, b, c)) == nearest<F>(sum));
        }
        CHECK((a < c) == (x < z) && (a >= c) == (x >= z) && (a == c) == (x == z));
        CHECK(double(F::wide(__hmax(a, c))) == fmax(x, z));
        CHECK(double(F::wide(__hmin(a, c))) == fmin(x, z));
        const unsigned quotient = F::bits(__hdiv(a, b)) & 0x7fff;
        if (quotient == 0 || quotient >= F::infinity) continue;
        // exact: the quotient's ties, times b, on both sides of a
        const double tie_below = (F::meaning(quotient - 1) + F::meaning(quotient)) / 2;
        const double tie_above =
            quotient + 1 == F::infinity
                ? HUGE_VAL
                : (F::meaning(quotient) + F::meaning(quotient + 1)) / 2;
        CHECK(tie_below * fabs(y) <= fabs(x) && fabs(x) <= tie_above * fabs(y));
    }
}

__global__ void known_halves(Tally *tally)
{
    const __half one = __float2half(1.0f), nan = __ushort_as_half(0x7fff);
    const __half most = __float2half(65504.0f), tiny = __ushort_as_half(1);
    CHECK(__half_as_ushort(__float2half_rn(65519.99f)) == 0x7bff);
    CHECK(__half_as_ushort(__float2half_rn(65520.0f)) == 0x7c00);
    CHECK(__half_as_ushort(__float2half_rz(1e30f)) == 0x7bff &&
          __hisinf(most + most) == 1);
    CHECK(__hisinf(-(most + most)) == -1 && __hisinf(most) == 0);
    CHECK(float(__int2half_rn(2049)) == 2048 && float(__int2half_rn(2051)) == 2052);
    CHECK(float(__int2half_ru(2049)) == 2050 && float(__int2half_rz(-2049)) == -2048);
    CHECK(float(__uint2half_rn(65519)) == 65504 && __hisinf(__uint2half_rn(65520)));
    CHECK(__half2int_rn(__float2half(2.5f)) == 2 &&
          __half2int_rn(__float2half(3.5f)) == 4);
    CHECK(__half2int_rz(__float2half(-2.75f)) == -2);
    CHECK(__half2int_ru(__float2half(2.25f)) == 3 &&
          __half2int_rd(__float2half(-0.5f)) == -1);
    CHECK(__half2uint_rz(-one) == 0 && __half2int_rz(nan) == 0);
    CHECK(__half2short_rn(most) == 32767 && __half2int_rz(most + most) == 2147483647);
    CHECK(!__hne(nan, one) && __hneu(nan, one) && nan != one && !__hlt(nan, one));
    CHECK(__hltu(nan, one) && __hequ(nan, one) && __hmax(nan, one) == one);
    CHECK(__hisnan(__hmax_nan(nan, one)) &&
          __half_as_ushort(__hadd_sat(nan, one)) == 0);
    CHECK(__hadd_sat(one, one) == one &&
          __hfma_relu(-one, one, -one) == __float2half(0.0f));
    CHECK(tiny * one == tiny && __half_as_ushort(tiny * __float2half(0.5f)) == 0);
    CHECK(hsqrt(__float2half(2.0f)) == __float2half(1.41421356f));
    CHECK(hexp(__float2half(0.0f)) == one &&
          hrint(__float2half(2.5f)) == __float2half(2.0f));
    CHECK(fabsf(float(hlog(__float2half(8.0f))) - 2.0794415f) < 0.001f);

    const __half2 p = __floats2half2_rn(1.0f, -2.0f),
                  q = __half2half2(__float2half(3.0f));
    const float2 sum = __half22float2(__hadd2(p, q)),
                 fma = __half22float2(__hfma2(p, q, q));
    CHECK(sum.x == 4 && sum.y == 1 && fma.x == 6 && fma.y == -3);
    CHECK(__low2float(p * q) == 3 && __high2float(p - q) == -5 && sizeof p == 4);
    CHECK(__hbeq2(p, p) && !__hbgt2(p, q) && __hblt2(p, q) && __hlt2_mask(p, q) == ~0u);
    CHECK(__heq2_mask(p, __halves2half2(one, one)) == 0x0000ffffu);
    CHECK(float(__high2half(__lowhigh2highlow(p))) == 1 && float(__habs2(p).y) == 2);
    CHECK(__low2float(__hmax2(p, q)) == 3 && __high2float(__hneg2(p)) == 2);

    const __nv_bfloat162 s = __floats2bfloat162_rn(1.0f, 257.0f);
    CHECK(__low2float(s) == 1 && __high2float(s) == 256 && sizeof s == 4);
    CHECK(float(__int2bfloat16_rn(259)) == 260 && __bfloat162int_rz(s.y) == 256);
}

/* ---- floats and integers --------------------------------------------------------- */

__global__ void known_floats(Tally *tally, float third)
{
    CHECK(__float2int_rn(2.5f) == 2 && __float2int_rn(-3.5f) == -4);
    CHECK(__float2int_rz(-2.9f) == -2 && __float2int_ru(2.1f) == 3);
    CHECK(__float2int_rd(-2.1f) == -3 && __float2int_rz(3e9f) == 2147483647);
    CHECK(__float2uint_rz(-5.0f) == 0 && __float2uint_rn(4e9f) == 4000000000u);
    CHECK(__float2ll_rn(-1e10f) == -10000000000ll &&
          __double2int_rn(-1e10) == -2147483647 - 1);
    CHECK(__float2int_rz(nanf("")) == 0 && __float2ull_rz(1e30f) == ~0ull);
    CHECK(__int2float_rn(16777217) == 16777216.0f &&
          __int2float_ru(16777217) == 16777218.0f);
    CHECK(__int2float_rz(-16777217) == -16777216.0f);
    CHECK(__int2float_rd(-16777217) == -16777218.0f);
    CHECK(__ull2double_rz(~0ull) == 18446744073709549568.0);
    CHECK(__double2float_rz(0.1) < __double2float_ru(0.1));
    CHECK(__double2float_rn(0.1) == 0.1f &&
          __double2float_rd(-0.1) == __double2float_ru(0.1) * -1);
    CHECK(__float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f);
    CHECK(__hiloint2double(0x3ff00000, 0) == 1.0 &&
          __double2hiint(-2.0) == int(0xc0000000));

    // a product and a sum rounded each, and both rounded once
    const float square = __fmul_rn(third, third);
    CHECK(__fadd_rn(square, -square) == 0);
    CHECK(double(__fmaf_rn(third, third, -square)) == double(third) * third - square);
    CHECK(__fmul_ru(third, third) == nextafterf(__fmul_rd(third, third), 1.0f));
    CHECK(__fadd_ru(1.0f, 1e-20f) == nextafterf(1.0f, 2.0f) &&
          __fadd_rz(1.0f, 1e-20f) == 1.0f);
    CHECK(__fdiv_rn(1.0f, 3.0f) == 1.0f / 3.0f && __frcp_rn(4.0f) == 0.25f);
    CHECK(__fsqrt_ru(2.0f) == nextafterf(__fsqrt_rd(2.0f), 2.0f));

    CHECK(fabsf(rsqrtf(4.0f) - 0.5f) < 1e-6f && fabs(rsqrt(16.0) - 0.25) < 1e-15);
    CHECK(fabsf(__expf(1.0f) - 2.7182818f) < 1e-5f &&
          fabsf(__logf(10.0f) - 2.302585f) < 1e-5f);
    CHECK(__saturatef(1.5f) == 1 && __saturatef(-1.0f) == 0 &&
          __saturatef(nanf("")) == 0);
    CHECK(__fdividef(1.0f, ldexpf(1.5f, 126)) == 0 &&
          fabsf(__fdividef(6.0f, 3.0f) - 2) < 1e-6f);
    CHECK(sinpif(1.0f) == 0 && cospif(1.0f) == -1 && sinpif(0.5f) == 1 &&
          cospif(0.5f) == 0);
    CHECK(fabsf(normcdff(1.0f) - 0.8413447f) < 1e-6f &&
          fabsf(erff(0.5f) - 0.5204999f) < 1e-6f);
    for (float p = 0.001f; p < 1; p += 0.01f)
        CHECK(fabsf(normcdff(normcdfinvf(p)) - p) < 2e-6f &&
              fabsf(erff(erfinvf(p)) - p) < 1e-6f);
    float sine, cosine;
    sincosf(0.5f, &sine, &cosine);
    CHECK(fabsf(sine * sine + cosine * cosine - 1) < 1e-6f);
    CHECK(fabsf(norm3df(2.0f, 3.0f, 6.0f) - 7) < 1e-5f &&
          fabsf(rhypotf(3.0f, 4.0f) - 0.2f) < 1e-6f);

    CHECK(min(2.0f, nanf("")) == 2.0f && max(1, 2) == 2 && min(-1, 1u) == 1u);
    CHECK(max(1.0f, 2.0) == 2.0 && min(3ll, 2ll) == 2 && abs(-3) == 3 &&
          abs(-2.5f) == 2.5f);
}

__global__ void known_integers(Tally *tally)
{
    CHECK(__popc(0xf0f0u) == 8 && __popcll(~0ull) == 64 && __clz(1) == 31 &&
          __clz(0) == 32);
    CHECK(__clzll(1ll << 40) == 23 && __ffs(0) == 0 && __ffs(8) == 4 &&
          __ffsll(1ll << 40) == 41);
    CHECK(__brev(0x00000013u) == 0xc8000000u && __brevll(1ull) == 1ull << 63);
    CHECK(__byte_perm(0x33221100u, 0x77665544u, 0x7250u) == 0x77225500u);
    CHECK(__byte_perm(0x00008000u, 0u, 0x9999u) == 0xffffffffu);
    CHECK(__funnelshift_l(0x80000000u, 1u, 1) == 3 &&
          __funnelshift_r(2u, 1u, 1) == 0x80000001u);
    CHECK(__funnelshift_lc(5u, 6u, 40) == 5 && __funnelshift_rc(5u, 6u, 40) == 6);
    CHECK(__funnelshift_l(5u, 6u, 32) == 6 && __funnelshift_r(5u, 6u, 32) == 5);
    CHECK(__mul24(0x00ffffff, 2) == -2 && __umul24(0x1000003u, 5u) == 15);
    CHECK(__mulhi(-1, 1) == -1 && __umulhi(~0u, ~0u) == ~0u - 1);
    CHECK(__mul64hi(-1ll, 1ll) == -1 && __umul64hi(~0ull, ~0ull) == ~0ull - 1);
    CHECK(__sad(-2, 3, 1u) == 6 && __usad(3u, 9u, 1u) == 7 && __hadd(-3, 0) == -2);
    CHECK(__rhadd(-3, 0) == -1 && __uhadd(~0u, ~0u) == ~0u);
    CHECK(__dp4a(0x01ff0203, 0x01010101, 10) == 15 &&
          __dp4a(0xff000000u, 0x02000000u, 0u) == 510);
    CHECK(__fns(0x16u, 0, 2) == 2 && __fns(0x16u, 0, 4) == ~0u &&
          __fns(0x16u, 31, -1) == 4);
    CHECK(__fns(0x16u, 4, 0) == 4 && __fns(0x16u, 3, 0) == ~0u);
}

int main()
{
    Tally *tally = tally_new();
    every_number<Half><<<256, 256>>>(tally);
    check_launch();
    every_number<Bfloat><<<256, 256>>>(tally);
    check_launch();
    every_tie<Half><<<128, 256>>>(tally);
    check_launch();
    every_tie<Bfloat><<<128, 256>>>(tally);
    check_launch();
    random_pairs<Half><<<8, 128>>>(tally);
    check_launch();
    random_pairs<Bfloat><<<8, 128>>>(tally);
    check_launch();
    known_halves<<<1, 1>>>(tally);
    check_launch();
    known_floats<<<1, 1>>>(tally, 1.0f / 3);
    check_launch();
    known_integers<<<1, 1>>>(tally);
    check_launch();

    return tally_told(tally);
}
