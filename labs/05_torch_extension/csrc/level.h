// SPDX-License-Identifier: MIT
/* level.h - which kernels of a wheel this processor can run
 *
 * A wheel for x86-64 has its kernels twice, for the levels x86-64-v3 (with AVX2) and
 * x86-64-v4 (with AVX-512). `level_here` returns 4 or 3, or 0 if the processor has
 * neither level. PyTorch's variable ATEN_CPU_CAPABILITY=avx2 allows no level above 3.
 */
#ifndef CONVLAB_LEVEL_H
#define CONVLAB_LEVEL_H

#include <stdlib.h>
#include <string.h>

#if !defined(__x86_64__)
#define HAS_V3 0
#define HAS_V4 0
#elif defined(__clang__)  // it does not know the names of the levels
#define HAS(word) __builtin_cpu_supports(word)
#define HAS_V3    (HAS("avx2") && HAS("fma") && HAS("bmi") && HAS("bmi2"))
#define HAS_V4                                                                         \
    (HAS("avx512f") && HAS("avx512bw") && HAS("avx512cd") && HAS("avx512dq") &&        \
     HAS("avx512vl"))
#else
#define HAS_V3 __builtin_cpu_supports("x86-64-v3")
#define HAS_V4 __builtin_cpu_supports("x86-64-v4")
#endif

static inline int level_here(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    const char *most = getenv("ATEN_CPU_CAPABILITY");
    const int narrow = most && (!strcmp(most, "avx2") || !strcmp(most, "default"));
    return !HAS_V3 ? 0 : HAS_V4 && !narrow ? 4 : 3;
}

#endif
