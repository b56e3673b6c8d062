// SPDX-License-Identifier: MIT
/* driver_types.h - everything is in cuda_runtime.h */
#include "cuda_runtime.h"
