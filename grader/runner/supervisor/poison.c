// SPDX-License-Identifier: MIT
#include "poison.h"

#include <string.h>

size_t poison_bytes(int32_t dtype)
{
    static const size_t bytes[6] = {2, 2, 4, 8, 4, 8};
    return bytes[dtype];
}

/* Whole elements that end at `end`, the first at or after `begin`. */
static void fill_back(char *begin, char *end, int32_t dtype, uint32_t tag)
{
    const uint64_t bits = poison_bits(dtype, tag);
    const size_t element = poison_bytes(dtype);
    const size_t count = (size_t)(end - begin) / element;
    char *at = end - count * element;
    switch (element) {
    case 8:
        for (size_t i = 0; i < count; i++) memcpy(at + 8 * i, &bits, 8);
        break;
    case 4:
        for (size_t i = 0; i < count; i++) memcpy(at + 4 * i, &bits, 4);
        break;
    default:
        for (size_t i = 0; i < count; i++) memcpy(at + 2 * i, &bits, 2);
    }
}

/* How far the fence of a copy reaches back: to the slot's start at most. */
static int64_t fence_room(const region_t *region, int64_t fence)
{
    return fence < region->offset ? fence : region->offset;
}

static uint32_t outside_tag(const region_t *region)
{
    return TAG_OUTSIDE + (region->tag & 0xfff);
}

void region_poison(const region_t *region, int64_t fence)
{
    char *begin = region->slot + region->offset;
    for (int call = 0; call < region->calls; call++, begin += region->step) {
        char *end = begin + region->extent;
        const int64_t room = call ? fence : fence_room(region, fence);
        if (room > 0)
            fill_back(begin - room, begin, region->dtype, outside_tag(region));
        fill_back(begin, end, region->dtype, region->tag);
        // behind a copy that does not end on the guard page: left or aligned placement
        const char *limit = region->slot + SLOT_BYTES;
        const int64_t behind = limit - end < fence ? limit - end : fence;
        const int64_t element = (int64_t)poison_bytes(region->dtype);
        if (behind > 0) {
            fill_back(end, end + behind / element * element, region->dtype,
                      outside_tag(region));
        }
    }
}

int region_is_poison(const region_t *region)
{
    const uint64_t bits = poison_bits(region->dtype, region->tag);
    const size_t element = poison_bytes(region->dtype);
    const char *data = region->slot + region->offset;
    for (int64_t i = 0; i < region->numel; i++) {
        if (memcmp(data + i * (int64_t)element, &bits, element) != 0) return 0;
    }
    return 1;
}

/* One element; little-endian machines only, as everywhere in this folder. */
static uint64_t load(const char *at, size_t element)
{
    uint64_t bits = 0;
    memcpy(&bits, at, element);
    return bits;
}

int64_t region_fence(const region_t *region, int64_t fence)
{
    const size_t element = poison_bytes(region->dtype);
    const uint64_t bits = poison_bits(region->dtype, outside_tag(region));
    const char *begin = region->slot + region->offset;
    const int64_t room =
        fence_room(region, fence) / (int64_t)element * (int64_t)element;
    for (int64_t back = (int64_t)element; back <= room; back += (int64_t)element) {
        if (load(begin - back, element) != bits) return back;
    }
    return 0;
}

void region_fill(const region_t *region, const side_t *side)
{
    const size_t element = poison_bytes(side->dtype);
    const char *host = (const char *)side->host;
    const int dense = region->extent == region->numel * (int64_t)element;
    for (int call = 0; call < region->calls; call++) {
        char *begin = region->slot + region->offset + call * region->step;
        int64_t index[6] = {0}, expected = 1;
        int in_order = dense;
        for (int d = side->ndim - 1; d >= 0; d--) {
            in_order &= side->size[d] == 1 || side->stride[d] == expected;
            expected *= side->size[d];
        }
        if (in_order) {
            memcpy(begin, host, (size_t)region->extent);
            host += region->extent;
            continue;
        }
        for (int64_t i = 0; i < region->numel; i++, host += element) {
            int64_t at = 0;
            for (int d = 0; d < side->ndim; d++) at += index[d] * side->stride[d];
            memcpy(begin + at * (int64_t)element, host, element);
            for (int d = side->ndim - 1; d >= 0 && ++index[d] == side->size[d]; d--) {
                index[d] = 0;
            }
        }
    }
}

findings_t poison_find(const void *data, int64_t numel, int32_t dtype, uint32_t tag)
{
    const size_t element = poison_bytes(dtype);
    const uint64_t untouched = poison_bits(dtype, tag);
    const uint64_t quiet = quiet_bit(dtype);
    const uint64_t sign = UINT64_C(1) << (8 * element - 1);
    // everything of a poison but its tag: a result that has these bits, and is quiet,
    // came from arithmetic on poison
    const uint64_t mark = (poison_bits(dtype, 0) | quiet) & ~sign;
    const uint64_t tag_bits = element == 2 ? (dtype == 0 ? 0xffu : 0x1fu) : 0xffffu;
    findings_t found = {0, 0, 0, 0, 0};
    for (int64_t i = 0; i < numel; i++) {
        const uint64_t bits = load((const char *)data + i * (int64_t)element, element);
        if (bits == untouched) {
            if (!found.unwritten++) found.first_unwritten = i;
        } else if (quiet &&
                   ((bits & ~sign & ~tag_bits) | quiet) == (mark & ~tag_bits) &&
                   (bits & tag_bits)) {
            if (!found.tainted++) {
                found.first_tainted = i;
                found.taint = (int32_t)(bits & tag_bits);
            }
        }
    }
    return found;
}
