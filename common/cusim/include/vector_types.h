// SPDX-License-Identifier: MIT
/* vector_types.h - everything is in cuda_runtime.h */
#include "cuda_runtime.h"
