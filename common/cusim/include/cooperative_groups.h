// SPDX-License-Identifier: MIT
/* cooperative_groups.h - thread_block, tiles of a warp, coalesced groups
 *
 * A tile is a run of 1, 2, 4, ... 32 lanes of one warp. A coalesced group is any set of
 * lanes of one warp; ranks count these lanes. Tiles and groups use the collectives of a
 * warp. A grid group needs all blocks at the same time. cusim does not run all blocks
 * at the same time, so this_grid() does not compile.
 */
#ifndef CUSIM_COOPERATIVE_GROUPS_H
#define CUSIM_COOPERATIVE_GROUPS_H

#include "cusim/collectives.h"
#include "cusim/integers.h"
#include "cusim/lane.h"
#include "cusim/lanes.h"

namespace cooperative_groups
{

/* ---- the block ------------------------------------------------------------------- */

class thread_block
{
  public:
    static void sync(CUSIM_WHERE)
    {
        cusim::barrier(0, "thread_block::sync", where);
    }
    static unsigned thread_rank()
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned num_threads()
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static unsigned size()
    {
        return num_threads();
    }
    static dim3 group_index()
    {
        return dim3(blockIdx);
    }
    static dim3 thread_index()
    {
        return dim3(threadIdx);
    }
    static dim3 dim_threads()
    {
        return blockDim;
    }
    static dim3 group_dim()
    {
        return blockDim;
    }
};

inline thread_block this_thread_block()
{
    return thread_block();
}

/* ---- what all sets of lanes of one warp have ------------------------------------- */

/* Returns the lanes of `group` that have the same predicate or label as this lane. */
template <class Group> class warp_group
{
    const Group &self() const
    {
        return static_cast<const Group &>(*this);
    }

  protected:
    unsigned lanes;

    explicit warp_group(unsigned lanes) : lanes(lanes)
    {
    }

  public:
    unsigned cusim_mask() const
    {
        return lanes;
    }
    unsigned num_threads() const
    {
        return unsigned(__popc(lanes));
    }
    unsigned size() const
    {
        return num_threads();
    }
    unsigned thread_rank() const
    {
        const unsigned below = (1u << cusim::lane_number()) - 1;
        return unsigned(__popc(lanes & below));
    }
    void sync(CUSIM_WHERE) const
    {
        __syncwarp(lanes, where);
    }
    int any(int predicate, CUSIM_WHERE) const
    {
        return __any_sync(lanes, predicate, where);
    }
    int all(int predicate, CUSIM_WHERE) const
    {
        return __all_sync(lanes, predicate, where);
    }
    unsigned ballot(int predicate, CUSIM_WHERE) const
    {
        return self().ranks_of(__ballot_sync(lanes, predicate, where));
    }
    template <class T> unsigned match_any(T value, CUSIM_WHERE) const
    {
        return self().ranks_of(__match_any_sync(lanes, value, where));
    }
    template <class T> unsigned match_all(T value, int &all, CUSIM_WHERE) const
    {
        return self().ranks_of(__match_all_sync(lanes, value, &all, where));
    }
    template <class T> T shfl(T value, int rank, CUSIM_WHERE) const
    {
        const int lane = self().lane_of(rank);
        return cusim::from_lane(lanes, value, lane, "shfl of a group", where);
    }
    template <class T> T shfl_up(T value, unsigned delta, CUSIM_WHERE) const
    {
        const int rank = int(thread_rank()), from = rank - int(delta);
        const int lane = self().lane_of(from < 0 ? rank : from);
        return cusim::from_lane(lanes, value, lane, "shfl_up of a group", where);
    }
    template <class T> T shfl_down(T value, unsigned delta, CUSIM_WHERE) const
    {
        const int rank = int(thread_rank()), from = rank + int(delta);
        const int lane = self().lane_of(from < int(num_threads()) ? from : rank);
        return cusim::from_lane(lanes, value, lane, "shfl_down of a group", where);
    }
};

/* ---- tiles ----------------------------------------------------------------------- */

template <unsigned N, class Parent = void>
class thread_block_tile : public warp_group<thread_block_tile<N, Parent>>
{
    static_assert(
        N >= 1 && N <= 32 && (N & (N - 1)) == 0,
        "a tile has 1, 2, 4, 8, 16 or 32 threads. Tiles of more than a warp are "
        "not in cusim: use the thread_block and shared memory");

  public:
    template <unsigned, class> friend class thread_block_tile;

    // of the thread that runs: a tile of a larger one has no other form
    thread_block_tile()
        : warp_group<thread_block_tile>((N == 32 ? ~0u : (1u << N % 32) - 1)
                                        << first_lane())
    {
    }
    // to pass a tile on where its parent does not matter
    template <class Other>
    thread_block_tile(const thread_block_tile<N, Other> &) : thread_block_tile()
    {
    }
    static constexpr unsigned num_threads()
    {
        return N;
    }
    static constexpr unsigned size()
    {
        return N;
    }
    static unsigned thread_rank()
    {
        return unsigned(cusim::lane_number()) % N;
    }
    unsigned meta_group_size() const
    {
        return (parent_size((Parent *)nullptr) + N - 1) / N;
    }
    unsigned meta_group_rank() const
    {
        return parent_rank((Parent *)nullptr) / N;
    }
    template <class T> T shfl_xor(T value, unsigned mask, CUSIM_WHERE) const
    {
        const unsigned from = thread_rank() ^ mask;
        const int lane = lane_of(int(from < N ? from : thread_rank()));
        return cusim::from_lane(this->lanes, value, lane, "shfl_xor of a group", where);
    }

    static int lane_of(int rank)
    {
        return first_lane() + int(unsigned(rank) % N);
    }
    static unsigned ranks_of(unsigned lanes)
    {
        return lanes >> first_lane();
    }

  private:
    static int first_lane()
    {
        return cusim::lane_number() & -int(N);
    }
    static unsigned parent_size(void *)
    {
        return thread_block::num_threads();
    }
    static unsigned parent_rank(void *)
    {
        return thread_block::thread_rank();
    }
    template <unsigned M, class P>
    static unsigned parent_size(thread_block_tile<M, P> *)
    {
        return M;
    }
    template <unsigned M, class P>
    static unsigned parent_rank(thread_block_tile<M, P> *)
    {
        return unsigned(cusim::lane_number()) % M;
    }
    static unsigned parent_size(thread_block *)
    {
        return thread_block::num_threads();
    }
    static unsigned parent_rank(thread_block *)
    {
        return thread_block::thread_rank();
    }
};

template <unsigned N> thread_block_tile<N, thread_block> tiled_partition(thread_block)
{
    return {};
}

template <unsigned N, unsigned M, class P>
thread_block_tile<N, thread_block_tile<M, P>>
tiled_partition(const thread_block_tile<M, P> &)
{
    static_assert(N <= M, "a tile cannot be larger than the tile it is part of");
    return {};
}

/* ---- coalesced groups ------------------------------------------------------------ */

class coalesced_group : public warp_group<coalesced_group>
{
  public:
    explicit coalesced_group(unsigned lanes) : warp_group(lanes)
    {
    }
    template <unsigned N, class P>
    coalesced_group(const thread_block_tile<N, P> &tile) : warp_group(tile.cusim_mask())
    {
    }
    unsigned meta_group_size() const
    {
        return 1;
    }
    unsigned meta_group_rank() const
    {
        return 0;
    }

    int lane_of(int rank) const
    {
        const unsigned lane = __fns(lanes, 0, rank % int(num_threads()) + 1);
        return int(lane & 31);
    }
    unsigned ranks_of(unsigned mask) const
    {
        unsigned ranks = 0, rank = 0;
        for (unsigned left = lanes; left != 0; left &= left - 1, rank++)
            ranks |= (mask >> __builtin_ctz(left) & 1) << rank;
        return ranks;
    }
};

inline coalesced_group coalesced_threads(CUSIM_WHERE)
{
    return coalesced_group(cusim::active_mask(where));
}

/* The lanes of a group that have the same predicate, or the same label, as this one. */
template <class Group>
coalesced_group binary_partition(const Group &group, bool predicate, CUSIM_WHERE)
{
    const unsigned yes = __ballot_sync(group.cusim_mask(), predicate, where);
    return coalesced_group(predicate ? yes : group.cusim_mask() & ~yes);
}

template <class Group, class Label>
coalesced_group labeled_partition(const Group &group, Label label, CUSIM_WHERE)
{
    return coalesced_group(__match_any_sync(group.cusim_mask(), label, where));
}

/* ---- groups of any kind ---------------------------------------------------------- */

template <class Group> void sync(const Group &group, CUSIM_WHERE)
{
    group.sync(where);
}

template <class Group> unsigned thread_rank(const Group &group)
{
    return group.thread_rank();
}

template <class Group> unsigned group_size(const Group &group)
{
    return group.size();
}

/* ---- what is refused ------------------------------------------------------------- */

template <class> constexpr bool cusim_has = false;

template <class T = void> int this_grid()
{
    static_assert(cusim_has<T>,
                  "this_grid() is not in cusim: its blocks run one after "
                  "another; split the kernel in two where the grid waits");
    return 0;
}

template <class T = void> int this_multi_grid()
{
    static_assert(cusim_has<T>, "this_multi_grid() is not in cusim: it has one device");
    return 0;
}

template <class T = void> int this_cluster()
{
    static_assert(cusim_has<T>,
                  "this_cluster() is not in cusim: clusters are of sm_90; "
                  "use one block and its shared memory");
    return 0;
}

}  // namespace cooperative_groups

#endif
