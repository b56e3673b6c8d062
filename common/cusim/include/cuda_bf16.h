// SPDX-License-Identifier: MIT
/* cuda_bf16.h - __nv_bfloat16 (upper half of a float), __nv_bfloat162, functions */
#ifndef CUSIM_CUDA_BF16_H
#define CUSIM_CUDA_BF16_H

#include "cusim/atomics.h"
#include "cusim/collectives.h"
#include "cusim/math.h"

#define CUSIM_H      __nv_bfloat16
#define CUSIM_H2     __nv_bfloat162
#define CUSIM_RAW    __nv_bfloat16_raw
#define CUSIM_NAME   bfloat16
#define CUSIM_PAIR   bfloat162
#define CUSIM_FORMAT cusim::BfloatFormat

#include "cusim/small_float.h"
#include "cusim/small_pair.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#endif
