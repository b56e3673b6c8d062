// SPDX-License-Identifier: MIT
/* cuda_runtime_api.h - everything is in cuda_runtime.h */
#include "cuda_runtime.h"
