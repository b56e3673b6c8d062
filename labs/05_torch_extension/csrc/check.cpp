// SPDX-License-Identifier: MIT
/* The contract's checks, once in every library: common/check.c is C and C++. */
#include "check.c"
