// SPDX-License-Identifier: MIT
/* collectives.h - shuffles, votes, matches and reductions of a warp
 *
 * Each lane passes a small struct. The lane that arrives last computes the results of
 * all lanes. A shuffle reads the lane that PTX's rule for shfl names; CUDA's `width`
 * makes the segments. On a GPU, reading a lane outside of the mask is undefined. In
 * cusim such a read returns a value with all bits set (NaN, -1), so that the mistake
 * shows. */
#ifndef CUSIM_COLLECTIVES_H
#define CUSIM_COLLECTIVES_H

#include "core.h"
#include "marks.h"

namespace cusim
{

enum class Shuffle { index, up, down, exclusive_or };

struct Shuffled {
    uint64_t mine, got;
    int from;
};

/* Returns the lane that this lane reads: itself if the other is outside the segment. */
CUSIM_QUIET inline int shuffle_source(Shuffle how, int operand, int width, Where where)
{
    if (width < 1 || width > 32 || (width & (width - 1)) != 0)
        trap("a shuffle's width must be 1, 2, 4, 8, 16 or 32", where);
    const int lane = position().lane, b = operand & 31;
    const int first = lane & -width, last = first + width - 1;
    switch (how) {
    case Shuffle::index: return first | (b & (width - 1));
    case Shuffle::up: return lane - b >= first ? lane - b : lane;
    case Shuffle::down: return lane + b <= last ? lane + b : lane;
    default: return (lane ^ b) <= last ? lane ^ b : lane;
    }
}

CUSIM_QUIET inline void finish_shuffle(void *const lane[32], unsigned mask)
{
    for (unsigned left = mask; left != 0; left &= left - 1) {
        Shuffled *self = static_cast<Shuffled *>(lane[__builtin_ctz(left)]);
        self->got = mask >> self->from & 1
                        ? static_cast<const Shuffled *>(lane[self->from])->mine
                        : ~uint64_t(0);
    }
}

/* Shuffles a value of any type of at most 8 bytes. */
template <class T>
CUSIM_QUIET inline T shuffle(unsigned mask, T value, Shuffle how, int operand,
                             int width, const char *name, Where where)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    Shuffled mine = {0, 0, shuffle_source(how, operand, width, where)};
    if ((mask & ~position().warp_lanes) >> mine.from & 1)
        absent_lane(mine.from, mask, name, where);
    __builtin_memcpy(&mine.mine, &value, sizeof value);
    together(mask, &mine, finish_shuffle, name, where);
    __builtin_memcpy(&value, &mine.got, sizeof value);
    return value;
}

/* ---- votes ----------------------------------------------------------------------- */

struct Vote {
    bool mine;
    unsigned lanes;  // those that voted yes
};

CUSIM_QUIET inline void finish_vote(void *const lane[32], unsigned mask)
{
    unsigned yes = 0;
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const int i = __builtin_ctz(left);
        yes |= unsigned(static_cast<const Vote *>(lane[i])->mine) << i;
    }
    for (unsigned left = mask; left != 0; left &= left - 1)
        static_cast<Vote *>(lane[__builtin_ctz(left)])->lanes = yes;
}

CUSIM_QUIET inline unsigned vote(unsigned mask, bool mine, const char *name,
                                 Where where)
{
    Vote ballot = {mine, 0};
    together(mask, &ballot, finish_vote, name, where);
    return ballot.lanes;
}

/* ---- matches --------------------------------------------------------------------- */

struct Match {
    uint64_t mine;
    unsigned same, all;  // the lanes with my value; the mask if that is everyone
};

CUSIM_QUIET inline void finish_match(void *const lane[32], unsigned mask)
{
    for (unsigned left = mask; left != 0; left &= left - 1) {
        Match *self = static_cast<Match *>(lane[__builtin_ctz(left)]);
        self->same = 0;
        for (unsigned other = mask; other != 0; other &= other - 1) {
            const int i = __builtin_ctz(other);
            const bool same = static_cast<const Match *>(lane[i])->mine == self->mine;
            self->same |= unsigned(same) << i;
        }
        self->all = self->same == mask ? mask : 0;
    }
}

template <class T>
CUSIM_QUIET inline Match match(unsigned mask, T value, const char *name, Where where)
{
    Match mine = {0, 0, 0};
    __builtin_memcpy(&mine.mine, &value, sizeof value);
    together(mask, &mine, finish_match, name, where);
    return mine;
}

/* ---- reductions ------------------------------------------------------------------ */

template <class T> struct Reduced {
    T mine, result;
};

template <class T, class Operation>
CUSIM_QUIET inline void finish_reduce(void *const lane[32], unsigned mask)
{
    T result = static_cast<const Reduced<T> *>(lane[__builtin_ctz(mask)])->mine;
    for (unsigned left = mask & (mask - 1); left != 0; left &= left - 1)
        result = Operation::of(
            result, static_cast<const Reduced<T> *>(lane[__builtin_ctz(left)])->mine);
    for (unsigned left = mask; left != 0; left &= left - 1)
        static_cast<Reduced<T> *>(lane[__builtin_ctz(left)])->result = result;
}

template <class Operation, class T>
CUSIM_QUIET inline T reduce(unsigned mask, T value, const char *name, Where where)
{
    Reduced<T> mine = {value, value};
    together(mask, &mine, finish_reduce<T, Operation>, name, where);
    return mine.result;
}

CUSIM_QUIET inline void finish_nothing(void *const[32], unsigned)
{
}

}  // namespace cusim

/* ---- CUDA's names ---------------------------------------------------------------- */

#define CUSIM_SHUFFLE(name, how, type, operand_type, operand)                          \
    inline type name(unsigned mask, type value, operand_type operand,                  \
                     int width = warpSize, CUSIM_WHERE)                                \
    {                                                                                  \
        return cusim::shuffle(mask, value, cusim::Shuffle::how, int(operand), width,   \
                              #name, where);                                           \
    }
#define CUSIM_SHUFFLES(type)                                                           \
    CUSIM_SHUFFLE(__shfl_sync, index, type, int, lane)                                 \
    CUSIM_SHUFFLE(__shfl_up_sync, up, type, unsigned, delta)                           \
    CUSIM_SHUFFLE(__shfl_down_sync, down, type, unsigned, delta)                       \
    CUSIM_SHUFFLE(__shfl_xor_sync, exclusive_or, type, int, lane_mask)
CUSIM_SHUFFLES(int)
CUSIM_SHUFFLES(unsigned)
CUSIM_SHUFFLES(long)
CUSIM_SHUFFLES(unsigned long)
CUSIM_SHUFFLES(long long)
CUSIM_SHUFFLES(unsigned long long)
CUSIM_SHUFFLES(float)
CUSIM_SHUFFLES(double)

inline unsigned __ballot_sync(unsigned mask, int predicate, CUSIM_WHERE)
{
    return cusim::vote(mask, predicate != 0, "__ballot_sync", where);
}

inline int __any_sync(unsigned mask, int predicate, CUSIM_WHERE)
{
    return cusim::vote(mask, predicate != 0, "__any_sync", where) != 0;
}

inline int __all_sync(unsigned mask, int predicate, CUSIM_WHERE)
{
    return cusim::vote(mask, predicate == 0, "__all_sync", where) == 0;
}

#define CUSIM_MATCHES(type)                                                            \
    inline unsigned __match_any_sync(unsigned mask, type value, CUSIM_WHERE)           \
    {                                                                                  \
        return cusim::match(mask, value, "__match_any_sync", where).same;              \
    }                                                                                  \
    inline unsigned __match_all_sync(unsigned mask, type value, int *all, CUSIM_WHERE) \
    {                                                                                  \
        const cusim::Match match =                                                     \
            cusim::match(mask, value, "__match_all_sync", where);                      \
        *all = match.all != 0;                                                         \
        return match.all;                                                              \
    }
CUSIM_MATCHES(int)
CUSIM_MATCHES(unsigned)
CUSIM_MATCHES(long)
CUSIM_MATCHES(unsigned long)
CUSIM_MATCHES(long long)
CUSIM_MATCHES(unsigned long long)
CUSIM_MATCHES(float)
CUSIM_MATCHES(double)
#undef CUSIM_MATCHES

/* The sum of ints may wrap around. */
#define CUSIM_REDUCE(name, type, expression)                                           \
    struct cusim_##name##_##type {                                                     \
        static type of(type a, type b)                                                 \
        {                                                                              \
            return type(expression);                                                   \
        }                                                                              \
    };                                                                                 \
    inline type name(unsigned mask, type value, CUSIM_WHERE)                           \
    {                                                                                  \
        return cusim::reduce<cusim_##name##_##type>(mask, value, #name, where);        \
    }
CUSIM_REDUCE(__reduce_add_sync, int, unsigned(a) + unsigned(b))
CUSIM_REDUCE(__reduce_add_sync, unsigned, a + b)
CUSIM_REDUCE(__reduce_min_sync, int, a < b ? a : b)
CUSIM_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
CUSIM_REDUCE(__reduce_max_sync, int, a > b ? a : b)
CUSIM_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
CUSIM_REDUCE(__reduce_and_sync, unsigned, a &b)
CUSIM_REDUCE(__reduce_or_sync, unsigned, a | b)
CUSIM_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef CUSIM_REDUCE

inline void __syncwarp(unsigned mask = 0xffffffffu, CUSIM_WHERE)
{
    cusim::together(mask, nullptr, cusim::finish_nothing, "__syncwarp", where);
}

inline unsigned __activemask(CUSIM_WHERE)
{
    return cusim::active_mask(where);
}

#endif
