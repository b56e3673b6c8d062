// SPDX-License-Identifier: MIT
/* cuda_runtime.h - CUDA C for machines without a GPU: include this as always
 *
 * The rewriter (cusim/rewrite.py) replaces __global__, __device__, __shared__ and
 * similar words. The compiler then sees plain C++.
 */
#ifndef CUSIM_CUDA_RUNTIME_H
#define CUSIM_CUDA_RUNTIME_H

#ifndef __CUSIM__
#define __CUSIM__ 1
#endif
#define CUDART_VERSION 13000
#define CUDA_VERSION   13000

#ifndef CUSIM_EDITOR  // editor.h has meanings for them
#define __global__        __cusim_global__
#define __device__        __cusim_device__
#define __host__          __cusim_host__
#define __constant__      __cusim_constant__
#define __managed__       __cusim_managed__
#define __grid_constant__ __cusim_grid_constant__
#define __shared__        __cusim_shared__
#endif
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__  inline
#define __restrict__ __restrict
#define CUDART_CB

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cusim/core.h"

#include "cusim/api.h"
#include "cusim/device.h"

#include "cusim/atomics.h"
#include "cusim/collectives.h"
#include "cusim/math.h"

#endif
