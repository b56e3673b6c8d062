// SPDX-License-Identifier: MIT
/* scratch.h - the graders' ctx_scratch: each block lies between two guard pages */
#ifndef CONVLAB_SCRATCH_H
#define CONVLAB_SCRATCH_H

#include "context.h"

typedef void *scratch_fn(ctx_t *ctx, size_t bytes);  // a ctx->scratch callback

/* A ctx->scratch callback. A block ends at most 63 bytes before an unmapped page,
 * begins after one, and is full of signalling NaN of the width of ctx->scratch_state,
 * an int32_t dtype. */
void *scratch_guarded(ctx_t *ctx, size_t bytes);

/* The same for the stopwatch: blocks keep whatever the last call left in them, and are
 * mapped once and given again, so that a call pays for no page twice. */
void *scratch_pooled(ctx_t *ctx, size_t bytes);

/* Unmap all blocks but pooled ones, so that a pointer kept into the next call faults.
 * Returns 0, or 1 if bytes between a block's end and its guard page were written. */
int scratch_release(void);

#endif
