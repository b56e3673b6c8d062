// SPDX-License-Identifier: MIT
/* device_launch_parameters.h - everything is in cuda_runtime.h */
#include "cuda_runtime.h"
