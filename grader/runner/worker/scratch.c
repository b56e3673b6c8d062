// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "scratch.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "../supervisor/protocol.h"

enum { ALIGNMENT = 64 };

typedef struct {
    char *mapping;
    size_t mapped;
    unsigned char *end;  // of what was asked for
    unsigned char *guard;
} block_t;

static block_t *blocks;
static int used, room;
static const unsigned char FENCE = 0xb7;

/* Fill with the poison of a dtype, whole elements from the start on. */
static void fill(unsigned char *begin, size_t bytes, int32_t dtype)
{
    const uint64_t bits = poison_bits(dtype, TAG_SCRATCH);
    if (dtype_bytes((dtype_t)dtype) == 8) {
        for (size_t i = 0; i < bytes / 8; i++) ((uint64_t *)(void *)begin)[i] = bits;
    } else {
        for (size_t i = 0; i < bytes / 4; i++) {
            ((uint32_t *)(void *)begin)[i] = (uint32_t)bits;
        }
    }
}

/* Room in the list for another block. */
static int one_more(void)
{
    if (used < room) return 1;
    const int wanted = room ? 2 * room : 64;
    block_t *longer = (block_t *)realloc(blocks, (size_t)wanted * sizeof *blocks);
    if (!longer) return 0;
    blocks = longer;
    room = wanted;
    return 1;
}

void *scratch_guarded(ctx_t *ctx, size_t bytes)
{
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t pages = (rounded + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (rounded < bytes || pages < rounded || !one_more()) return NULL;
    const size_t mapped = pages + 2 * PAGE_BYTES;
    char *mapping =
        (char *)mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == (char *)MAP_FAILED) return NULL;
    if (mprotect(mapping + PAGE_BYTES, pages, PROT_READ | PROT_WRITE)) {
        munmap(mapping, mapped);
        return NULL;
    }
    unsigned char *guard = (unsigned char *)mapping + PAGE_BYTES + pages;
    unsigned char *begin = guard - rounded;
    fill(begin, rounded, *(const int32_t *)ctx->scratch_state);
    for (unsigned char *byte = begin + bytes; byte < guard; byte++) *byte = FENCE;
    blocks[used++] = (block_t){mapping, mapped, begin + bytes, guard};
    return begin;
}

/* ---- for the stopwatch ----------------------------------------------------------- */

enum { POOLED = 512 };

typedef struct {
    unsigned char *guard;  // a block ends here
    size_t pages;          // bytes in front of the guard page
    int taken;
} pooled_t;

static pooled_t pool[POOLED];
static int pooled;

/* The smallest free block of at least `pages` bytes, or a new one. */
static pooled_t *pooled_block(size_t pages)
{
    pooled_t *best = NULL;
    for (int i = 0; i < pooled; i++) {
        const int fits = !pool[i].taken && pool[i].pages >= pages;
        if (fits && (!best || pool[i].pages < best->pages)) best = &pool[i];
    }
    if (best || pooled == POOLED) return best;
    char *mapping = (char *)mmap(NULL, pages + PAGE_BYTES, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == (char *)MAP_FAILED) return NULL;
    if (mprotect(mapping, pages, PROT_READ | PROT_WRITE)) return NULL;
    pool[pooled] = (pooled_t){(unsigned char *)mapping + pages, pages, 0};
    return &pool[pooled++];
}

void *scratch_pooled(ctx_t *ctx, size_t bytes)
{
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t pages = (rounded + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (rounded < bytes || pages < rounded) return NULL;
    pooled_t *block = pooled_block(pages ? pages : PAGE_BYTES);
    if (!block) return scratch_guarded(ctx, bytes);
    block->taken = 1;
    return block->guard - rounded;
}

int scratch_release(void)
{
    int damaged = 0;
    for (int i = 0; i < pooled; i++) pool[i].taken = 0;
    while (used > 0) {
        const block_t block = blocks[--used];
        for (const unsigned char *byte = block.end; byte < block.guard; byte++) {
            damaged |= *byte != FENCE;
        }
        munmap(block.mapping, block.mapped);
    }
    return damaged;
}
