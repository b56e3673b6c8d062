// SPDX-License-Identifier: MIT
/* refusing.h - a ctx_scratch that refuses one request, or all requests */
#ifndef CONVLAB_REFUSING_H
#define CONVLAB_REFUSING_H

#include "scratch.h"

/* From now on scratch_refusing refuses the request with this number; the first has
 * number 1. For number 0 it refuses every request. `grant` answers the others. */
void scratch_refuse(int request, scratch_fn *grant);
void *scratch_refusing(ctx_t *ctx, size_t bytes);

/* How many requests there were since then. */
int scratch_asked(void);

#endif
