// SPDX-License-Identifier: MIT
/* async.h - copies to shared memory that are finished when a thread waits for them
 *
 * cp.async starts a copy and does not wait. A kernel that forgets to wait must not get
 * the right values by luck. So cusim first fills the destination with NaN bytes. The
 * copy is made when the thread waits for it. The counts and the race check see both
 * accesses on the line that starts the copy. */
#ifndef CUSIM_ASYNC_H
#define CUSIM_ASYNC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "marks.h"
#include "word.h"

namespace cusim
{

struct Copy {
    void *to;
    unsigned bytes, group;
    unsigned char data[16];
};

/* The unfinished copies of a thread: copy[first] to copy[end - 1], oldest first. Copies
 * with the group number `group` are not committed yet. */
struct Copies {
    uint64_t block;  // serial number of the block that they belong to
    unsigned group;
    size_t first, end, capacity;
    Copy *copy;
};
inline Copies copies_of_thread[1024];

CUSIM_QUIET inline Copies &copies()
{
    Copies &mine = copies_of_thread[position().thread];
    if (mine.block != block_serial) {
        mine.block = block_serial;
        mine.group = 0;
        mine.first = mine.end = 0;
    }
    return mine;
}

CUSIM_QUIET inline void remember(void *to, const void *data, unsigned bytes)
{
    const Unseen unseen;
    Copies &mine = copies();
    if (mine.end == mine.capacity && mine.first > mine.capacity / 2) {
        mine.end -= mine.first;
        memmove(mine.copy, mine.copy + mine.first, mine.end * sizeof *mine.copy);
        mine.first = 0;
    }
    if (mine.end == mine.capacity) {
        mine.capacity = mine.capacity == 0 ? 16 : 2 * mine.capacity;
        mine.copy = (Copy *)realloc(mine.copy, mine.capacity * sizeof *mine.copy);
        if (mine.copy == nullptr) abort();
    }
    Copy &copy = mine.copy[mine.end++];
    copy.to = to;
    copy.bytes = bytes;
    copy.group = mine.group;
    memcpy(copy.data, data, bytes);
}

/* Finishes the copies of all committed groups, except the last `left` groups. If
 * `uncommitted`, finishes all copies. */
CUSIM_QUIET inline void finish_copies(unsigned left, bool uncommitted)
{
    const Unseen unseen;
    Copies &mine = copies();
    for (; mine.first < mine.end; mine.first++) {
        const Copy &copy = mine.copy[mine.first];
        if (!uncommitted && copy.group + left >= mine.group) return;
        memcpy(copy.to, copy.data, copy.bytes);
    }
    mine.first = mine.end = 0;
}

CUSIM_QUIET inline void commit_copies()
{
    copies().group++;
}

[[noreturn]] inline void trap_misaligned(const char *call, const char *what,
                                         const void *address, unsigned bytes,
                                         Where where)
{
    static char sentence[200];
    snprintf(sentence, sizeof sentence,
             "%s: the %s must be a multiple of %u bytes, and %p is %u bytes past one. "
             "Align the array with __align__(%u) and step by whole %u bytes",
             call, what, bytes, address, unsigned(uintptr_t(address) % bytes), bytes,
             bytes);
    trap(sentence, where);
}

/* Starts a copy of `bytes` bytes. It reads only the first `source_bytes` bytes of the
 * source; the rest becomes zeros. */
template <int bytes>
CUSIM_INLINE void start_copy(void *shared, const void *global, unsigned source_bytes,
                             const char *call, Where where)
{
    typedef typename WordOf<bytes>::type W;
    if (uintptr_t(shared) % bytes != 0)
        trap_misaligned(call, "address in shared memory", shared, bytes, where);
    if (uintptr_t(global) % bytes != 0)
        trap_misaligned(call, "address in global memory", global, bytes, where);
    if (source_bytes > unsigned(bytes))
        trap("cp.async: more bytes of the source than of the copy", where);
    W data = {};
    if (source_bytes == bytes) {
        data = *(const W *)global;
    } else {
        const unsigned char *from = (const unsigned char *)global;
        for (unsigned i = 0; i < source_bytes; i++)
            ((unsigned char *)&data)[i] = from[i];
    }
    *(W *)shared = ~W{};
    remember(shared, &data, bytes);
}

}  // namespace cusim

#endif
