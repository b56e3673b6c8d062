// SPDX-License-Identifier: MIT
/* lanes.h - a value of any size from another lane, for cooperative groups
 *
 * CUDA's groups shuffle values of any type that can be copied bit by bit. __shfl_sync
 * moves only 8 bytes.
 */
#ifndef CUSIM_LANES_H
#define CUSIM_LANES_H

#include "collectives.h"

namespace cusim
{

struct Taken {
    const unsigned char *mine;
    unsigned char *got;
    size_t bytes;
    int from;
};

CUSIM_QUIET inline void finish_taken(void *const lane[32], unsigned mask)
{
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const Taken &self = *static_cast<const Taken *>(lane[__builtin_ctz(left)]);
        const bool there = mask >> self.from & 1;
        const unsigned char *from =
            there ? static_cast<const Taken *>(lane[self.from])->mine : nullptr;
        for (size_t i = 0; i < self.bytes; i++) self.got[i] = there ? from[i] : 0xff;
    }
}

/* Returns `value` of lane `from`, or all bits set if the lane is not in the mask. */
template <class T>
CUSIM_QUIET inline T from_lane(unsigned mask, T value, int from, const char *name,
                               Where where)
{
    static_assert(__is_trivially_copyable(T),
                  "a group shuffles types that can be copied bit by bit");
    if (~position().warp_lanes >> from & 1) absent_lane(from, mask, name, where);
    if constexpr (sizeof(T) <= 8) {
        Shuffled mine = {0, 0, from};
        __builtin_memcpy(&mine.mine, &value, sizeof value);
        together(mask, &mine, finish_shuffle, name, where);
        __builtin_memcpy(&value, &mine.got, sizeof value);
        return value;
    } else {
        T got = value;
        Taken mine = {(const unsigned char *)&value, (unsigned char *)&got,
                      sizeof value, from};
        together(mask, &mine, finish_taken, name, where);
        return got;
    }
}

}  // namespace cusim

#endif
