// SPDX-License-Identifier: MIT
/* groups.cu - shuffles, votes, matches, reductions and cooperative groups
 *
 * Every shuffle of every width and distance against the words of the programming guide:
 * lanes are in segments of `width`, and a lane whose source is outside of what the
 * shuffle may reach keeps its value. Blocks are 4 x 16 threads, two warps, in 3 blocks.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tally.h"

namespace cg = cooperative_groups;

__device__ int rank_in_block()
{
    return int(threadIdx.x + threadIdx.y * blockDim.x);
}

/* A different value for each lane, warp and block. */
__device__ int secret(int lane)
{
    return 1000 * int(blockIdx.x) + 100 * (rank_in_block() / 32) + lane;
}

/* ---- shuffles -------------------------------------------------------------------- */

template <class T> __global__ void every_shuffle(Tally *tally)
{
    const int lane = rank_in_block() % 32;
    const T mine = T(secret(lane));
    for (int width = 1; width <= 32; width *= 2) {
        const int segment = lane / width, place = lane % width;
        for (int n = 0; n < 32; n++) {
            const int up = place - n >= 0 ? lane - n : lane;
            const int down = place + n < width ? lane + n : lane;
            // a segment below may be read, one above not
            const int crossed = (lane ^ n) / width <= segment ? lane ^ n : lane;
            const T from = __shfl_sync(0xffffffffu, mine, n, width);
            CHECK(from == T(secret(segment * width + n % width)));
            CHECK(__shfl_up_sync(0xffffffffu, mine, n, width) == T(secret(up)));
            CHECK(__shfl_down_sync(0xffffffffu, mine, n, width) == T(secret(down)));
            CHECK(__shfl_xor_sync(0xffffffffu, mine, n, width) == T(secret(crossed)));
        }
    }
    CHECK(__shfl_sync(0xffffffffu, mine, 35) == T(secret(3)));
    CHECK(__shfl_sync(0xffffffffu, mine, -1) == T(secret(31)));
}

__global__ void wide_shuffle(Tally *tally)
{
    const int lane = rank_in_block() % 32, next = (lane + 1) % 32;
    const unsigned long long bits = 0x0123456700000000ull + unsigned(lane);
    CHECK(__shfl_sync(0xffffffffu, bits, next) ==
          0x0123456700000000ull + unsigned(next));
    const double number = 1 + lane * 1e-12;
    CHECK(__shfl_sync(0xffffffffu, number, next) == 1 + next * 1e-12);
    const __half2 pair = __floats2half2_rn(float(lane), float(-lane));
    CHECK(__high2float(__shfl_sync(0xffffffffu, pair, next)) == float(-next));
    const __nv_bfloat16 small = __float2bfloat16(float(lane));
    CHECK(float(__shfl_xor_sync(0xffffffffu, small, 1)) == float(lane ^ 1));

    // half of the lanes only, the other half elsewhere
    const unsigned odd = 0xaaaaaaaau;
    if (lane % 2) {
        const int got = __shfl_down_sync(odd, lane, 2);
        CHECK(got == (lane < 30 ? lane + 2 : lane));
        CHECK(__ballot_sync(odd, lane > 20) == 0xaaa00000u);
    } else {
        CHECK(__shfl_xor_sync(~odd, lane, 4) == (lane ^ 4));
    }
    __syncwarp();
    int sum = lane;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (lane == 0) CHECK(sum == 31 * 16);
#ifdef __CUSIM__
    // undefined on the card: a lane that is not in the mask
    if (lane < 4) CHECK(__shfl_sync(0xfu, lane, 5) == -1);
#endif
}

/* ---- votes, matches, reductions -------------------------------------------------- */

__global__ void votes(Tally *tally)
{
    const int lane = rank_in_block() % 32;
    const unsigned full = 0xffffffffu, low = 0x000000ffu;
    CHECK(__ballot_sync(full, lane % 3 == 0) == 0x49249249u);
    CHECK(__any_sync(full, lane == 7) && !__any_sync(full, lane == 32));
    CHECK(__all_sync(full, lane < 32) && !__all_sync(full, lane < 31));
    if (lane < 8) {
        CHECK(__all_sync(low, lane < 8) && !__any_sync(low, lane > 7));
        CHECK(__reduce_add_sync(low, lane) == 28 && __reduce_max_sync(low, -lane) == 0);
        CHECK(__activemask() == low);
    }
    __syncwarp();

    unsigned same = 0;
    for (int i = 0; i < 32; i++) same |= unsigned(i % 5 == lane % 5) << i;
    int all = -1;
    CHECK(__match_any_sync(full, lane % 5) == same);
    CHECK(__match_any_sync(full, float(lane % 5)) == same);
    CHECK(__match_any_sync(full, (unsigned long long)(lane % 5) << 40) == same);
    CHECK(__match_all_sync(full, 2.5, &all) == full && all == 1);
    CHECK(__match_all_sync(full, lane / 31, &all) == 0 && all == 0);

    CHECK(__reduce_add_sync(full, lane - 16) == -16 &&
          __reduce_add_sync(full, 1u) == 32);
    CHECK(__reduce_min_sync(full, lane - 9) == -9 &&
          __reduce_min_sync(full, ~0u - lane) == ~31u);
    CHECK(__reduce_max_sync(full, lane - 40) == -9 && __reduce_max_sync(full, 5u) == 5);
    CHECK(__reduce_or_sync(full, 1u << lane) == full);
    CHECK(__reduce_and_sync(full, ~(1u << lane)) == 0);
    CHECK(__reduce_xor_sync(full, unsigned(lane)) == 0);
}

/* ---- cooperative groups ---------------------------------------------------------- */

struct Large {
    int number;
    double more[3];
};

template <unsigned N> __device__ void check_tile(Tally *tally, int rank)
{
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<N>(block);
    const int lane = rank % 32, place = rank % int(N), first = lane - place;
    const unsigned members = N == 32 ? 0xffffffffu : (1u << N % 32) - 1;
    CHECK(tile.thread_rank() == unsigned(place) && tile.size() == N);
    CHECK(tile.meta_group_rank() == unsigned(rank) / N &&
          tile.meta_group_size() == 64 / N);
    const int other = (place + 1) % int(N);
    CHECK(tile.shfl(secret(lane), other) == secret(first + other));
    const int above = place + 1 < int(N) ? lane + 1 : lane;
    CHECK(tile.shfl_down(secret(lane), 1) == secret(above));
    CHECK(tile.shfl_up(secret(lane), 1) == secret(place > 0 ? lane - 1 : lane));
    if (N > 1) CHECK(tile.shfl_xor(secret(lane), 1) == secret(lane ^ 1));
    CHECK(tile.ballot(place != 0) == (members & ~1u));
    CHECK(tile.any(place == 0) && tile.all(place < int(N)) && !tile.any(place == 99));
    CHECK(tile.match_any(place / 2) == ((3u << place / 2 * 2) & members));
    const Large large = {lane, {1.0 * lane, 2.0 * lane, 3.0 * lane}};
    const Large got = tile.shfl(large, 0);
    CHECK(got.number == first && got.more[2] == 3.0 * first);

    const int count = int(N), sum = count * (count - 1) / 2;
    CHECK(cg::reduce(tile, place, cg::plus<int>()) == sum);
    CHECK(cg::reduce(tile, float(place), cg::plus<float>()) == float(sum));
    CHECK(cg::reduce(tile, place, cg::less<int>()) == 0);
    CHECK(cg::reduce(tile, place, cg::greater<int>()) == count - 1);
    CHECK(cg::reduce(tile, 1u << place, cg::bit_or<unsigned>()) == members);
    tile.sync();
}

__global__ void tiles(Tally *tally)
{
    __shared__ int seen[64];
    const cg::thread_block block = cg::this_thread_block();
    const int rank = int(block.thread_rank());
    CHECK(rank == rank_in_block() && block.size() == 64);
    CHECK(block.group_index().x == blockIdx.x && block.thread_index().y == threadIdx.y);
    seen[rank] = rank;
    block.sync();
    CHECK(seen[63 - rank] == 63 - rank);
    cg::sync(block);
    check_tile<1>(tally, rank);
    check_tile<2>(tally, rank);
    check_tile<4>(tally, rank);
    check_tile<8>(tally, rank);
    check_tile<16>(tally, rank);
    check_tile<32>(tally, rank);

    const auto warp = cg::tiled_partition<32>(block);
    const auto quad = cg::tiled_partition<4>(warp);
    CHECK(quad.meta_group_rank() == unsigned(rank % 32 / 4) &&
          quad.meta_group_size() == 8);
    CHECK(cg::reduce(quad, rank, cg::plus<int>()) == 4 * (rank & ~3) + 6);
}

__global__ void coalesced(Tally *tally)
{
    const int lane = rank_in_block() % 32;
    if (lane % 3 == 1) {  // lanes 1, 4, ... 31: eleven
        const cg::coalesced_group group = cg::coalesced_threads();
        const int place = lane / 3;
        CHECK(group.size() == 11 && group.thread_rank() == unsigned(place));
        CHECK(group.shfl(lane, 4) == 13);
        CHECK(group.shfl_up(lane, 2) == (place >= 2 ? lane - 6 : lane));
        CHECK(group.shfl_down(lane, 2) == (place < 9 ? lane + 6 : lane));
        CHECK(group.ballot(place < 3) == 7 && group.any(lane == 31) &&
              !group.all(lane == 31));
        CHECK(group.match_any(place / 4) == ((0xfu << place / 4 * 4) & 0x7ffu));
        CHECK(cg::reduce(group, lane, cg::plus<int>()) == 11 * 16);
        group.sync();
    }
    __syncwarp();
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto half = cg::binary_partition(warp, lane < 10);
    CHECK(half.size() == (lane < 10 ? 10u : 22u));
    CHECK(half.thread_rank() == unsigned(lane < 10 ? lane : lane - 10));
    const auto label = cg::labeled_partition(warp, lane % 4);
    CHECK(label.size() == 8 && label.thread_rank() == unsigned(lane / 4));
    CHECK(cg::reduce(label, 1, cg::plus<int>()) == 8);
}

int main()
{
    Tally *tally = tally_new();
    const dim3 block(4, 16);
    every_shuffle<int><<<3, block>>>(tally);
    check_launch();
    every_shuffle<float><<<3, block>>>(tally);
    check_launch();
    every_shuffle<long long><<<3, block>>>(tally);
    check_launch();
    every_shuffle<double><<<3, block>>>(tally);
    check_launch();
    wide_shuffle<<<3, block>>>(tally);
    check_launch();
    votes<<<3, block>>>(tally);
    check_launch();
    tiles<<<3, block>>>(tally);
    check_launch();
    coalesced<<<3, block>>>(tally);
    check_launch();
    return tally_told(tally);
}
