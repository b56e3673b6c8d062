// SPDX-License-Identifier: MIT
/* walk.c - how many ulp a vector function of a rung is off, float by float
 *
 *   walk STEP LOW HIGH      every STEP-th float of all 2^32, and those on both sides of
 *                           each power of two, as far as they lie from LOW to HIGH
 *
 * Compiled with RUNG (the file, in quotes), FUNCTION (vec_erf) and EXACT (erf: libm in
 * double, whose own error is 2^-29 of an ulp here). An ulp is the distance between the
 * floats around the exact value. Prints: how many floats, the largest error in ulp and
 * where; and how many NaN did not give NaN, or numbers did.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include RUNG

enum { AROUND = 3 };  // floats on each side of a power of two

typedef struct {
    int64_t tried, nonsense;
    double worst;  // ulp
    float at;
} found_t;

static float float_of(uint32_t pattern)
{
    float x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* The largest power of two that is not above x >= 0; 0 for 0. */
static double power_below(double x)
{
    const uint64_t exponent = (uint64_t)0x7ff << 52;
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof x);
    pattern &= exponent;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* The error of one result in ulp. */
static double ulps(float result, double exact)
{
    const double normal = 0x1p-126, power = power_below(fabs(exact));
    return fabs(result - exact) / (0x1p-23 * (power > normal ? power : normal));
}

/* LANES floats, `step` patterns apart. */
static void look(uint32_t pattern, uint32_t step, double low, double high, found_t *f)
{
    float x[LANES], y[LANES];
    for (int i = 0; i < LANES; i++) x[i] = float_of(pattern + (uint32_t)i * step);
    vec_store(y, FUNCTION(vec_load(x)));
    for (int i = 0; i < LANES; i++) {
        if (x[i] < low || x[i] > high) continue;
        f->nonsense += !isnan(x[i]) != !isnan(y[i]);
        if (isnan(x[i])) continue;
        const double error = ulps(y[i], EXACT(x[i]));
        f->tried++;
        if (!(error > f->worst)) continue;
        f->worst = error, f->at = x[i];
    }
}

static void join(found_t *all, found_t part)
{
    all->tried += part.tried;
    all->nonsense += part.nonsense;
    if (part.worst <= all->worst) return;
    all->worst = part.worst, all->at = part.at;
}

int main(int count, char **words)
{
    if (count != 4) return 2;
    const int64_t step = atoll(words[1]), whole = (int64_t)1 << 32;
    const double low = atof(words[2]), high = atof(words[3]);
    found_t all = {0, 0, -1, 0};
#pragma omp parallel
    {
        found_t mine = {0, 0, -1, 0}, around = {0, 0, -1, 0};
#pragma omp for nowait
        for (int64_t at = 0; at < whole; at += step * LANES)
            look((uint32_t)at, (uint32_t)step, low, high, &mine);
#pragma omp for nowait
        for (int64_t power = 0; power < 512; power++)  // a power of two, of either sign
            for (int i = -AROUND; i <= AROUND; i++)
                look((uint32_t)((power << 23) + i), 0, low, high, &around);
        around.tried = 0;  // they are among the others, or many times the same
#pragma omp critical
        join(&all, mine), join(&all, around);
    }
    printf("%lld %.3f %.9g %lld\n", (long long)all.tried, all.worst, all.at,
           (long long)all.nonsense);
    return 0;
}
