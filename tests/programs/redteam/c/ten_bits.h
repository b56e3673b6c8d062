// SPDX-License-Identifier: MIT
#include <string.h>

/* x with 10 bits of mantissa, to nearest even: as many as half and TF32 have. */
static real keep_10_bits(real x)
{
    const float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    bits += 0xfff + (bits >> 13 & 1);
    bits &= ~(uint32_t)0x1fff;
    float rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    return (real)rounded;
}
