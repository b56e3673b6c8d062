// SPDX-License-Identifier: MIT
/* device.h - copies the tensors of a call to device memory, and back
 *
 * With -DDEVICE it is part of worker-cuda and its kin. They run the rungs of lab 04
 * through the CUDA runtime API, of cusim (no GPU) or of NVIDIA. Other workers get
 * functions that do nothing.
 */
#ifndef CONVLAB_DEVICE_H
#define CONVLAB_DEVICE_H

#include "context.h"
#include "link.h"

#ifdef DEVICE_CARD
enum { ON_CARD = 1 };  // NVIDIA's runtime: a real GPU
#else
enum { ON_CARD = 0 };
#endif

#ifdef DEVICE
enum { ON_DEVICE = 1 };

#ifdef __cplusplus
extern "C" {
#endif

/* Take what address space and files the runtime needs, before the guards forbid it.
 * From now on what cusim reports goes to reply->report. */
void device_start(reply_t *reply);

/* A command begins: an empty report, and the order of threads that RUN_ bits say. */
void device_begin(const link_t *link);

/* A context as a call on the device gets it. */
void device_context(ctx_t *ctx);

/* Move the tensors of a call into allocations of their own, contents and gaps and all.
 * Returns STATUS_OK, or REPLY_DEVICE with a sentence in ctx->error. */
int device_enter(const link_t *link, ctx_t *ctx, tensor_t tensor[MAX_TENSORS],
                 tensor_t *const pointer[MAX_TENSORS]);

/* ctx_scratch: an allocation of exactly so many bytes, full of signalling NaN. */
void *device_scratch(ctx_t *ctx, size_t bytes);

/* How often a rung is called in this command: once, unless RUN_TIMED asks for more. */
int device_repeats(const link_t *link);

/* Around each call. On a card, with RUN_TIMED: the first call of a command waits in the
 * queue until all of it is there, the L2 cache is filled with other things, and events
 * take the time from there on; scratch is free again behind it. */
void device_clock_start(const link_t *link);
void device_clock_stop(const link_t *link);

/* The call has returned `status`: wait for its kernels, copy outputs back, compare
 * inputs, free everything. Returns the status that stands in the end. */
int device_leave(const link_t *link, ctx_t *ctx, int status);

#ifdef __cplusplus
}
#endif

#else
enum { ON_DEVICE = 0 };

static inline void device_start(reply_t *reply)
{
    (void)reply;
}
static inline void device_begin(const link_t *link)
{
    (void)link;
}
static inline void device_context(ctx_t *ctx)
{
    (void)ctx;
}
static inline int device_enter(const link_t *link, ctx_t *ctx,
                               tensor_t tensor[MAX_TENSORS],
                               tensor_t *const pointer[MAX_TENSORS])
{
    (void)link, (void)ctx, (void)tensor, (void)pointer;
    return STATUS_OK;
}
static inline void *device_scratch(ctx_t *ctx, size_t bytes)
{
    (void)ctx, (void)bytes;
    return NULL;
}
static inline int device_repeats(const link_t *link)
{
    (void)link;
    return 1;
}
static inline void device_clock_start(const link_t *link)
{
    (void)link;
}
static inline void device_clock_stop(const link_t *link)
{
    (void)link;
}
static inline int device_leave(const link_t *link, ctx_t *ctx, int status)
{
    (void)link, (void)ctx;
    return status;
}

#endif
#endif
