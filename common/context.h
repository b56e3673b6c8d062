// SPDX-License-Identifier: MIT
/* context.h - the context that each operator gets besides its tensors
 *
 * It has the number of threads that the operator may start, and the stream for its
 * kernels. It gives scratch memory, and has space for an error message. A context is
 * for one thread and one stream at a time.
 */
#ifndef CONVLAB_CONTEXT_H
#define CONVLAB_CONTEXT_H

#include "tensor.h"

enum { CTX_ERROR_BYTES = 384 };

struct CUstream_st;  // cudaStream_t is a pointer to this

typedef struct ctx {
    int32_t threads;             // at least 1; OpenMP: num_threads(ctx->threads)
    struct CUstream_st *stream;  // NULL is the default stream; unused on the CPU
    device_t device;             // the device of scratch memory
    void *(*scratch)(struct ctx *, size_t bytes);  // set by the caller; see ctx_scratch
    void *scratch_state;                           // the caller's, for its callback
    char error[CTX_ERROR_BYTES];                   // one sentence; "" without an error
    int32_t left;  // backward: the wanted gradients it did not write, GRAD_* bits
} ctx_t;

/* Scratch memory of at least `bytes` bytes, aligned to 64, contents undefined.
 * Call it as often as you like. All of this memory stays valid until the operator
 * returns. The caller frees it: there is no free here. NULL if there is no memory:
 * return STATUS_NO_MEMORY. 0 bytes may give NULL as well: return early if there is
 * nothing to do. */
static inline void *ctx_scratch(ctx_t *ctx, size_t bytes)
{
    return ctx->scratch ? ctx->scratch(ctx, bytes) : NULL;
}

#endif
