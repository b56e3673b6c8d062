// SPDX-License-Identifier: MIT
// Stream compaction with ballot and popc, and warp-aggregated counting with match_any.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
#define FULL 0xffffffffu

__device__ __forceinline__ unsigned lane_mask_lt() { return (1u << (threadIdx.x & 31)) - 1u; }

__global__ void compact(const int* in, int n, int* out, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  int v = i < n ? in[i] : 0;
  bool keep = i < n && v > 0;
  unsigned m = __ballot_sync(FULL, keep);
  int base = 0;
  if (lane == 0 && m) base = atomicAdd(count, __popc(m));
  base = __shfl_sync(FULL, base, 0);
  if (keep) out[base + __popc(m & lane_mask_lt())] = v;
}

__global__ void count_keys(const int* key, int n, int* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned active = __ballot_sync(FULL, i < n);
  if (i < n) {
    int k = key[i];
    unsigned same = __match_any_sync(active, k);
    int leader = __ffs(same) - 1;
    if ((int)(threadIdx.x & 31) == leader) atomicAdd(&bins[k], __popc(same));
    __syncwarp(active);
  }
}

int main() {
  const int n = 1000, keys = 11;
  std::vector<int> h(n), k(n), r(n), want;
  int bins[keys], want_bins[keys] = {0};
  for (int i = 0; i < n; ++i) {
    h[i] = (i * 37) % 101 - 50;
    k[i] = (i * i) % keys;
    if (h[i] > 0) want.push_back(h[i]);
    want_bins[k[i]]++;
  }
  int *dh, *dk, *dout, *dc, *db, got = 0;
  CHECK(cudaMalloc(&dh, n * sizeof(int)));
  CHECK(cudaMalloc(&dk, n * sizeof(int)));
  CHECK(cudaMalloc(&dout, n * sizeof(int)));
  CHECK(cudaMalloc(&dc, sizeof(int)));
  CHECK(cudaMalloc(&db, sizeof bins));
  CHECK(cudaMemcpy(dh, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dk, k.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(dc, 0, sizeof(int)));
  CHECK(cudaMemset(db, 0, sizeof bins));
  compact<<<(n + 127) / 128, 128>>>(dh, n, dout, dc);
  CHECK(cudaGetLastError());
  count_keys<<<(n + 255) / 256, 256>>>(dk, n, db);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&got, dc, sizeof(int), cudaMemcpyDeviceToHost));
  int bad = got != (int)want.size();
  if (!bad) {
    CHECK(cudaMemcpy(r.data(), dout, got * sizeof(int), cudaMemcpyDeviceToHost));
    r.resize(got);
    std::sort(r.begin(), r.end());
    std::sort(want.begin(), want.end());
    bad += r != want;
  }
  CHECK(cudaMemcpy(bins, db, sizeof bins, cudaMemcpyDeviceToHost));
  for (int b = 0; b < keys; ++b) bad += bins[b] != want_bins[b];
  std::printf("%d %s\n", got, bad ? "WRONG" : "ok");
  CHECK(cudaFree(dh));
  CHECK(cudaFree(dk));
  CHECK(cudaFree(dout));
  CHECK(cudaFree(dc));
  CHECK(cudaFree(db));
  return bad ? 1 : 0;
}
