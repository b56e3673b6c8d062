// SPDX-License-Identifier: MIT
/* poison.h - fills memory with a pattern that shows which bytes were written */
#ifndef CONVLAB_POISON_H
#define CONVLAB_POISON_H

#include <stddef.h>

#include "core.h"

/* Where one tensor lies, `calls` copies of it, `step` bytes apart. */
typedef struct {
    char *slot;
    int64_t offset;  // bytes from slot to the first element
    int64_t extent;  // bytes of one copy
    int64_t step;
    int64_t numel;  // elements of the tensor; fewer than extent holds if it has gaps
    int calls;
    int32_t dtype;
    uint32_t tag;
} region_t;

typedef struct {
    int64_t unwritten, first_unwritten;
    int64_t tainted, first_tainted;
    int32_t taint;
} findings_t;

/* Bytes of one element. */
size_t poison_bytes(int32_t dtype);

/* Fill every copy with the region's poison, and up to `fence` bytes before it with
 * TAG_OUTSIDE of the same tensor. */
void region_poison(const region_t *region, int64_t fence);

/* Copy dense host elements to where the strides put them. */
void region_fill(const region_t *region, const side_t *side);

/* 1 if the whole region is as region_poison left it. */
int region_is_poison(const region_t *region);

/* 0, or the distance in bytes from the first copy back to the nearest changed byte. */
int64_t region_fence(const region_t *region, int64_t fence);

/* Look through dense elements for poison: untouched (`tag`), or computed with. */
findings_t poison_find(const void *data, int64_t numel, int32_t dtype, uint32_t tag);

#endif
