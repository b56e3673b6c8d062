// SPDX-License-Identifier: MIT
#include "rates.h"

/* Sums are separate variables and not an array, which gcc would keep in memory. The
 * lists are as long as it takes to hide the latency of a multiply-add: 4 or 5 cycles
 * with two started in each, and as many as there are registers for vectors. */
#define SUMS_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define SUMS_24(X)                                                                     \
    SUMS_12(X)                                                                         \
    X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

#if defined(__AVX512F__)
#define REGISTER "v"
#define SUMS     SUMS_24
enum { VECTOR_BYTES = 64, VECTORS = 24 };  // of 32 registers
#elif defined(__aarch64__)
#define REGISTER "w"
#define SUMS     SUMS_24
enum { VECTOR_BYTES = 16, VECTORS = 24 };  // of 32
#else
#define REGISTER "x"
#define SUMS     SUMS_12
#if defined(__AVX__)
enum { VECTOR_BYTES = 32, VECTORS = 12 };  // of 16
#else
enum { VECTOR_BYTES = 16, VECTORS = 12 };
#endif
#endif
enum { SCALARS = 12 };

typedef float vector_t __attribute__((vector_size(VECTOR_BYTES)));

/* Read anew in every call, so that no result can be worked out while compiling. */
static volatile float factor_now = 0.999f, term_now = 0.001f;

// the empty assembly claims to change the sum: neither vectorised nor left out
#define START(i) sum##i = (float)(i) + 0 * factor;
#define STEP(i)                                                                        \
    sum##i = sum##i * factor + term;                                                   \
    __asm__ volatile("" : "+" REGISTER(sum##i));
#define DECLARE_SCALAR(i) float START(i)
#define DECLARE_VECTOR(i) vector_t START(i)

int64_t rates_multiply_add(int64_t repeats)
{
    const float factor = factor_now, term = term_now;
    SUMS_12(DECLARE_SCALAR)
    for (int64_t r = 0; r < repeats; r++) {
        SUMS_12(STEP)
    }
    return repeats * SCALARS;
}

int64_t rates_fma(int64_t repeats)
{
    const vector_t factor = factor_now + (vector_t){0};
    const vector_t term = term_now + (vector_t){0};
    SUMS(DECLARE_VECTOR)
    for (int64_t r = 0; r < repeats; r++) {
        SUMS(STEP)
    }
    return repeats * VECTORS * (VECTOR_BYTES / (int)sizeof(float));
}

int64_t rates_triad(float *restrict a, const float *restrict b, const float *restrict c,
                    int64_t count, int64_t repeats)
{
    const float factor = factor_now;
    for (int64_t r = 0; r < repeats; r++) {
        for (int64_t i = 0; i < count; i++) a[i] = b[i] + factor * c[i];
        __asm__ volatile("" ::"r"(a) : "memory");  // every repeat is done
    }
    return 3 * repeats * count * (int64_t)sizeof(float);
}
