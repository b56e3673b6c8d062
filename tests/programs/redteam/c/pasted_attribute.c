// SPDX-License-Identifier: MIT
/* pasted_attribute - switches the sanitizer off by a name in two pieces */
#include "frame.h"

#define PASTE(a, b) a##b
#define QUIET       __attribute__((PASTE(no_san, itize)("address")))
#define UNSEEN      1

#include "reads_before.h"
