// SPDX-License-Identifier: MIT
/* raw.c - calls a kernel without PyTorch: the fastest time of `make bench LAB=05`
 *
 * Scratch memory is one block. It is reserved once, and each call takes it anew. The
 * file is linked with an operator's kernels into a library that ctypes calls.
 */
#include <stddef.h>

#include "context.h"

typedef struct {
    char *block;  // aligned to a page
    size_t bytes, used;
} raw_memory_t;

void *raw_scratch(ctx_t *ctx, size_t bytes)
{
    raw_memory_t *memory = ctx->scratch_state;
    const size_t whole = (bytes + 63) / 64 * 64;
    if (whole > memory->bytes - memory->used) return NULL;
    memory->used += whole;
    return memory->block + memory->used - whole;
}
