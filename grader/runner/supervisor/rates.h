// SPDX-License-Identifier: MIT
/* rates.h - what this machine's core can do at most: the yardsticks of a speed
 *
 * Each function does a known amount of work and nothing else; machine.py times it.
 * Compiled like a rung, with -O3 -march=native.
 */
#ifndef CONVLAB_RATES_H
#define CONVLAB_RATES_H

#include <stdint.h>

/* Independent scalar multiply-adds in float, no vectors. Returns how many. */
int64_t rates_multiply_add(int64_t repeats);

/* The same in the widest vectors the compiler may use. Returns how many, counting each
 * element of a vector. */
int64_t rates_fma(int64_t repeats);

/* a = b + factor * c, `count` elements each, `repeats` times (STREAM's triad: McCalpin
 * 1995). Returns the bytes named by the formula, 12 an element. */
int64_t rates_triad(float *restrict a, const float *restrict b, const float *restrict c,
                    int64_t count, int64_t repeats);

#endif
