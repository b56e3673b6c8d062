// SPDX-License-Identifier: MIT
/* editor.h - CUDA C as clangd reads it, without a CUDA toolkit
 *
 * clangd parses a .cu file in clang's CUDA mode, for the host (compile_commands.json,
 * make editor). In this mode __global__ and similar words are attributes, clang parses
 * <<<...>>>, and a kernel may call every function. No build uses this header.
 */
#ifndef CUSIM_EDITOR
#define CUSIM_EDITOR 1

#define __host__     __attribute__((host))
#define __device__   __attribute__((device))
#define __global__   __attribute__((global))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__
#define __grid_constant__

// the standard library as it is: its functions are for the host alone
#include <cstdlib>  // first: clang's own <new> wants malloc

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#pragma clang force_cuda_host_device begin
#include <cmath>  // cusim adds overloads to it
#include "cuda_runtime.h"

// what <<<...>>> becomes
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                                unsigned long bytes = 0,
                                                void *stream = nullptr);
#endif
