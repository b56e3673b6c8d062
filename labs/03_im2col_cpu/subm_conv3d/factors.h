// SPDX-License-Identifier: MIT
/* factors.h - the numbers with which a hash table of subm_conv3d multiplies coordinates
 *
 * They differ in each process. So nobody can choose points in advance that all begin at
 * one slot, and make each search pass all points.
 */
#ifndef CONVLAB_FACTORS_H
#define CONVLAB_FACTORS_H

#include "operators.h"

/* Fills factor with large odd numbers, from the address of ctx: it is random. */
static inline void draw_factors(const ctx_t *ctx, uint64_t factor[4])
{
    uint64_t mixed = (uintptr_t)ctx;
    for (int i = 0; i < 4; i++) {
        mixed = (mixed + 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
        mixed ^= mixed >> 32;
        factor[i] = mixed | 1;
    }
}

#endif
