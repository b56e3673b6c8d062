// SPDX-License-Identifier: MIT
/* vector.h - one source for AVX-512, AVX2 and NEON
 *
 * A `vec` has as many elements of type `real` as a vector register holds. The operators
 * of C work on a vec: a * b + c computes all elements at once. With -ffp-contract=fast,
 * a * b + c is one instruction. gcc and clang share these types (gcc manual, "Vector
 * Extensions"). This file adds what only one of the two compilers has, or neither.
 *
 *     machine            VECTOR_BYTES   VECTOR_REGISTERS   LANES of float, of double
 *     x86-64, AVX-512    64             32                 16   8
 *     x86-64, AVX2       32             16                  8   4
 *     x86-64 before      16             16                  4   2
 *     aarch64, NEON      16             32                  4   2
 *
 * If a register block needs more vectors than VECTOR_REGISTERS, some vectors are on the
 * stack. Each use of these vectors costs a load or a store.
 */
#ifndef CONVLAB_VECTOR_H
#define CONVLAB_VECTOR_H

#include <string.h>

#include "real.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, VECTOR_REGISTERS = 32 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, VECTOR_REGISTERS = 16 };
#elif defined(__aarch64__)
enum { VECTOR_BYTES = 16, VECTOR_REGISTERS = 32 };
#else
enum { VECTOR_BYTES = 16, VECTOR_REGISTERS = 16 };
#endif

enum { LANES = VECTOR_BYTES / sizeof(real) };

/* A matrix product keeps BLOCK_ROWS x BLOCK_VECTORS vectors of sums in registers. Each
 * step loads BLOCK_VECTORS vectors of the right matrix and BLOCK_ROWS numbers of the
 * left one. For columns that are channels, use CHANNEL_ROWS and CHANNEL_VECTORS.
 * Channels are often a multiple of 64, that is, of 4 vectors of 16 floats. */
enum {
    BLOCK_ROWS = VECTOR_REGISTERS == 32 ? 8 : 6,
    BLOCK_VECTORS = VECTOR_REGISTERS == 32 ? 3 : 2,
    CHANNEL_ROWS = 6,
    CHANNEL_VECTORS = VECTOR_REGISTERS == 32 ? 4 : 2,
};

typedef real vec __attribute__((vector_size(VECTOR_BYTES)));

/* Put UNROLL before a loop with a constant count. The compiler then unrolls the whole
 * loop. So an array of vec that the loop variable indexes stays in registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

/* Put EXPAND before a function that gets constant arguments. The compiler inlines this
 * function into each caller, where loops over the constants have a constant count. */
#define EXPAND static inline __attribute__((always_inline))

/* Put APART before a function with loops that need all registers. The compiler never
 * inlines this function, because the caller's pointers would take some registers. */
#define APART __attribute__((noinline)) static

/* Returns a vector with x in every lane. */
static inline vec vec_splat(real x)
{
    return x - (vec){0};
}

/* Returns a vector with p[0] ... p[LANES - 1]. p is only aligned to one element. */
static inline vec vec_load(const real *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vec_store(real *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

/* Returns v, and keeps v in a register. Without vec_keep, gcc loads v from memory again
 * for each multiply-add that uses v. */
static inline vec vec_keep(vec v)
{
#if defined(__x86_64__)
    __asm__("" : "+v"(v));
#elif defined(__aarch64__)
    __asm__("" : "+w"(v));
#endif
    return v;
}

/* Sums all lanes: adds the upper half to the lower half, until one lane is left. */
static inline real vec_sum(vec v)
{
    real lane[LANES];
    vec_store(lane, v);
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    }
    return lane[0];
}

/* ---- some of the lanes, and stores past the caches ----------------------------------
 * The instructions that load or store only some lanes depend on the machine. Builds
 * without optimisation (make debug, sanitizers) load and store lane by lane instead. So
 * a sanitizer finds an access out of bounds. vec_one_by_one chooses, not a macro.
 */
#if defined(__AVX512F__) && defined(REAL_F64)
#define VECTOR_MASK(n)        (__mmask8)((1u << (n)) - 1)
#define VECTOR_LOAD(p, m)     _mm512_maskz_loadu_pd(m, p)
#define VECTOR_STORE(p, m, v) _mm512_mask_storeu_pd(p, m, v)
#define VECTOR_STREAM(p, v)   _mm512_stream_pd(p, v)
#elif defined(__AVX512F__)
#define VECTOR_MASK(n)        (__mmask16)((1u << (n)) - 1)
#define VECTOR_LOAD(p, m)     _mm512_maskz_loadu_ps(m, p)
#define VECTOR_STORE(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define VECTOR_STREAM(p, v)   _mm512_stream_ps(p, v)
#elif defined(__AVX2__) && defined(REAL_F64)
#define VECTOR_MASK(n)                                                                 \
    _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define VECTOR_LOAD(p, m)     _mm256_maskload_pd(p, m)
#define VECTOR_STORE(p, m, v) _mm256_maskstore_pd(p, m, v)
#define VECTOR_STREAM(p, v)   _mm256_stream_pd(p, v)
#elif defined(__AVX2__)
#define VECTOR_MASK(n)                                                                 \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)),                                    \
                       _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define VECTOR_LOAD(p, m)     _mm256_maskload_ps(p, m)
#define VECTOR_STORE(p, m, v) _mm256_maskstore_ps(p, m, v)
#define VECTOR_STREAM(p, v)   _mm256_stream_ps(p, v)
#endif

/* Returns 1 in builds without optimisation: only an optimiser knows that `one` is 1. */
EXPAND int vec_one_by_one(void)
{
    const int one = 1;
    return !__builtin_constant_p(one);
}

/* Returns a vector with the first n elements at p, and 0 in all other lanes. The
 * function reads no memory after these n elements; 0 <= n <= LANES. */
static inline vec vec_load_first(const real *p, int64_t n)
{
    if (__builtin_constant_p(n) && n == LANES) return vec_load(p);
#if defined(VECTOR_LOAD)
    if (!vec_one_by_one()) return VECTOR_LOAD(p, VECTOR_MASK(n));
#endif
    vec v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}

/* Stores the first n lanes of v to p[0], ... p[n - 1]; 0 <= n <= LANES. */
static inline void vec_store_first(real *p, vec v, int64_t n)
{
#if defined(VECTOR_STORE)
    if (!vec_one_by_one()) {
        // AVX2's masked stores are many times slower than full stores on AMD
        if (VECTOR_BYTES == 32 && n == LANES)
            vec_store(p, v);
        else
            VECTOR_STORE(p, VECTOR_MASK(n), v);
        return;
    }
#endif
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}

/* Stores v past the caches, for results that no code reads soon. So the memory's old
 * contents are not read first. p is aligned to VECTOR_BYTES. Call vec_stream_end()
 * after the last vec_stream. Without AVX2, vec_stream is an ordinary store. */
static inline void vec_stream(real *p, vec v)
{
#if defined(VECTOR_STREAM)
    VECTOR_STREAM(p, v);
#else
    vec_store(p, v);
#endif
}

/* Makes other threads see all vec_stream stores before any later store. */
static inline void vec_stream_end(void)
{
#if defined(VECTOR_STREAM)
    _mm_sfence();
#endif
}

/* ---- two vectors, interleaved -------------------------------------------------------
 * vec_transpose transposes a matrix of 2^k rows in k steps. Each step interleaves the
 * first half of the rows with the second half. vec_zip_low and vec_zip_high interleave
 * two rows a and b:
 *
 *     a            a0 a1 a2 a3          vec_zip_low(a, b)     a0 b0 a1 b1
 *     b            b0 b1 b2 b3          vec_zip_high(a, b)    a2 b2 a3 b3
 */
#if defined(__AVX512F__) && !defined(REAL_F64)
#define VECTOR_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define VECTOR_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif defined(__AVX512F__) || (defined(__AVX2__) && !defined(REAL_F64))
#define VECTOR_LOW  0, 8, 1, 9, 2, 10, 3, 11
#define VECTOR_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif defined(__AVX2__) || !defined(REAL_F64)
#define VECTOR_LOW  0, 4, 1, 5
#define VECTOR_HIGH 2, 6, 3, 7
#else
#define VECTOR_LOW  0, 2
#define VECTOR_HIGH 1, 3
#endif

static inline vec vec_zip_low(vec a, vec b)
{
    return __builtin_shufflevector(a, b, VECTOR_LOW);
}

static inline vec vec_zip_high(vec a, vec b)
{
    return __builtin_shufflevector(a, b, VECTOR_HIGH);
}

/* Transposes rows: exchanges lane j of rows[i] and lane i of rows[j]. */
static inline void vec_transpose(vec rows[LANES])
{
    UNROLL
    for (int left = LANES; left > 1; left /= 2) {
        vec dealt[LANES];
        UNROLL
        for (int i = 0; i < LANES / 2; i++) {
            dealt[2 * i] = vec_zip_low(rows[i], rows[i + LANES / 2]);
            dealt[2 * i + 1] = vec_zip_high(rows[i], rows[i + LANES / 2]);
        }
        UNROLL
        for (int i = 0; i < LANES; i++) rows[i] = dealt[i];
    }
}

/* Transposes `from` into `to`: to[j * to_stride + i] = from[i * from_stride + j] for i
 * < ROWS, j < COLS. `from` and `to` do not overlap. The function transposes squares of
 * LANES x LANES, and prefetches later elements of each row. */
static inline void vec_transpose_copy(const real *from, int64_t from_stride,
                                      real *restrict to, int64_t to_stride,
                                      int64_t ROWS, int64_t COLS)
{
    for (int64_t i = 0; i < ROWS; i += LANES) {
        const int64_t rows = ROWS - i < LANES ? ROWS - i : LANES;
        for (int64_t j = 0; j < COLS; j += LANES) {
            const int64_t cols = COLS - j < LANES ? COLS - j : LANES;
            vec square[LANES];
            UNROLL
            for (int r = 0; r < LANES; r++) {
                const real *row = from + (i + r) * from_stride + j;
                square[r] = vec_load_first(row, r < rows ? cols : 0);
                __builtin_prefetch(row + 4 * LANES);
            }
            vec_transpose(square);
            UNROLL
            for (int c = 0; c < LANES; c++) {
                if (c >= cols) break;
                vec_store_first(to + (j + c) * to_stride + i, square[c], rows);
            }
        }
    }
}

#endif
