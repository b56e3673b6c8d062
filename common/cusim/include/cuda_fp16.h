// SPDX-License-Identifier: MIT
/* cuda_fp16.h - __half (1 sign, 5 exponent, 10 mantissa bits), __half2, functions */
#ifndef CUSIM_CUDA_FP16_H
#define CUSIM_CUDA_FP16_H

#include "cusim/atomics.h"
#include "cusim/collectives.h"
#include "cusim/math.h"

#define CUSIM_H      __half
#define CUSIM_H2     __half2
#define CUSIM_RAW    __half_raw
#define CUSIM_NAME   half
#define CUSIM_PAIR   half2
#define CUSIM_FORMAT cusim::HalfFormat

#include "cusim/small_float.h"
#include "cusim/small_pair.h"

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#endif
