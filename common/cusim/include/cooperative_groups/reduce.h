// SPDX-License-Identifier: MIT
/* cooperative_groups/reduce.h - cg::reduce over a tile or a coalesced group
 *
 * A tile combines lanes like a butterfly of shfl_xor: their ranks differ in one bit.
 * The highest bit comes first. A coalesced group adds lanes in the order of ranks. A
 * GPU may add floats in another order.
 */
#ifndef CUSIM_COOPERATIVE_GROUPS_REDUCE_H
#define CUSIM_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups
{

#define CUSIM_OPERATION(name, expression)                                              \
    template <class T = void> struct name {                                            \
        T operator()(const T &a, const T &b) const                                     \
        {                                                                              \
            return expression;                                                         \
        }                                                                              \
    };                                                                                 \
    template <> struct name<void> {                                                    \
        template <class T> T operator()(const T &a, const T &b) const                  \
        {                                                                              \
            return expression;                                                         \
        }                                                                              \
    };
CUSIM_OPERATION(plus, T(a + b))
CUSIM_OPERATION(less, b < a ? b : a)
CUSIM_OPERATION(greater, a < b ? b : a)
CUSIM_OPERATION(bit_and, T(a &b))
CUSIM_OPERATION(bit_or, T(a | b))
CUSIM_OPERATION(bit_xor, T(a ^ b))
#undef CUSIM_OPERATION

template <unsigned N, class P, class T, class Operation>
T reduce(const thread_block_tile<N, P> &tile, T value, Operation operation, CUSIM_WHERE)
{
    for (unsigned bit = N / 2; bit > 0; bit /= 2)
        value = operation(value, tile.shfl_xor(value, bit, where));
    return value;
}

template <class T, class Operation>
T reduce(const coalesced_group &group, T value, Operation operation, CUSIM_WHERE)
{
    T result = group.shfl(value, 0, where);
    for (unsigned rank = 1; rank < group.size(); rank++)
        result = operation(result, group.shfl(value, int(rank), where));
    return result;
}

}  // namespace cooperative_groups

#endif
