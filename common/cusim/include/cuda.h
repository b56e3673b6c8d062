// SPDX-License-Identifier: MIT
/* cuda.h - everything is in cuda_runtime.h */
#include "cuda_runtime.h"
