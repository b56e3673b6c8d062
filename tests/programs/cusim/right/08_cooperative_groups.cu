// SPDX-License-Identifier: MIT
// Cooperative groups: tiles of 16, thread_block sync, warp-wide reduce, coalesced group.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

template <unsigned N>
__device__ int tile_sum(cg::thread_block_tile<N> g, int v) {
  for (int o = g.size() / 2; o > 0; o /= 2) v += g.shfl_down(v, o);
  return v;
}

__global__ void row16(const int* in, int* sums, int* total, int* odd) {
  __shared__ int part[8];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int i = block.group_index().x * block.size() + block.thread_rank();
  int v = in[i];
  int s = tile_sum<16>(tile, v);
  int tile_id = block.thread_rank() / 16;
  if (tile.thread_rank() == 0) {
    part[tile_id] = s;
    sums[block.group_index().x * 8 + tile_id] = s;
  }
  block.sync();
  auto warp = cg::tiled_partition<32>(block);
  if (block.thread_rank() < 32) {
    int p = warp.thread_rank() < 8 ? part[warp.thread_rank()] : 0;
    p = cg::reduce(warp, p, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(total, p);
  }
  if (v & 1) {
    cg::coalesced_group g = cg::coalesced_threads();
    if (g.thread_rank() == 0) atomicAdd(odd, (int)g.size());
  }
}

int main() {
  const int blocks = 3, n = blocks * 128;
  std::vector<int> h(n), r(n / 16);
  int want = 0, want_odd = 0;
  for (int i = 0; i < n; ++i) {
    h[i] = (i * 13) % 23;
    want += h[i];
    want_odd += h[i] & 1;
  }
  int *a, *s, *t, got[2];
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&s, r.size() * sizeof(int)));
  CHECK(cudaMalloc(&t, 2 * sizeof(int)));
  CHECK(cudaMemset(t, 0, 2 * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  row16<<<blocks, 128>>>(a, s, t, t + 1);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), s, r.size() * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(got, t, sizeof got, cudaMemcpyDeviceToHost));
  int bad = got[0] != want || got[1] != want_odd;
  for (int k = 0; k < n / 16; ++k) {
    int x = 0;
    for (int j = 0; j < 16; ++j) x += h[k * 16 + j];
    bad += x != r[k];
  }
  std::printf("%d %d %s\n", got[0], got[1], bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(s));
  CHECK(cudaFree(t));
  return bad ? 1 : 0;
}
