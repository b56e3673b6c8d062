// SPDX-License-Identifier: MIT
/* context.h - the context that each operator gets besides its tensors
 *
 * ctx_t has the number of threads that the operator may start, and the CUDA stream for
 * kernels. ctx_t also gives scratch memory, and stores an error message. Only one
 * thread may use a ctx_t at a time, and with only one stream.
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
    void *scratch_state;                           // data for scratch()
    char error[CTX_ERROR_BYTES];                   // a message; "" without an error
    int32_t left;  // GRAD_* bits of wanted gradients that backward did not write
} ctx_t;

/* Returns scratch memory of at least `bytes` bytes, aligned to 64 bytes, with undefined
 * contents. Call ctx_scratch as often as you like. The memory stays valid until the
 * operator returns; then the caller frees it. If ctx_scratch returns NULL, there is no
 * memory: return STATUS_NO_MEMORY. For 0 bytes ctx_scratch may return NULL, so return
 * early if there is nothing to compute. */
static inline void *ctx_scratch(ctx_t *ctx, size_t bytes)
{
    return ctx->scratch ? ctx->scratch(ctx, bytes) : NULL;
}

#endif
