// SPDX-License-Identifier: MIT
/* context.h - what every operator is given besides its tensors
 *
 * How many threads it may start, and the stream for its kernels. Scratch memory, and
 * room for the sentence that explains a failure. One context serves one thread and one
 * stream at a time.
 */
#ifndef CONVLAB_CONTEXT_H
#define CONVLAB_CONTEXT_H

#include "tensor.h"

enum { CTX_ERROR_BYTES = 384 };

struct CUstream_st;  // cudaStream_t is a pointer to this

typedef struct ctx {
    int32_t threads;             // at least 1; OpenMP: num_threads(ctx->threads)
    struct CUstream_st *stream;  // NULL is the default stream; unused on the CPU
    device_t device;             // where scratch memory is wanted
    void *(*scratch)(struct ctx *, size_t bytes);  // set by the caller; see ctx_scratch
    void *scratch_state;                           // the caller's, for its callback
    char error[CTX_ERROR_BYTES];                   // one sentence, "" while all is well
    int32_t left;  // backward: the wanted gradients it did not write, GRAD_* bits
} ctx_t;

/* Scratch memory of at least `bytes` bytes, aligned to 64, contents undefined.
 * Call it as often as you like. All of this memory stays valid until the operator
 * returns. The caller frees it: there is no free here. NULL if there is no memory:
 * return STATUS_NO_MEMORY. 0 bytes may give NULL as well: return early when there is
 * nothing to do. */
static inline void *ctx_scratch(ctx_t *ctx, size_t bytes)
{
    return ctx->scratch ? ctx->scratch(ctx, bytes) : NULL;
}

#endif
