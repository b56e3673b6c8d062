// SPDX-License-Identifier: MIT
// Managed memory, block-wide votes as loop conditions, and disjoint writes through strides.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
constexpr int BS = 64;

// Odd-even sort of a segment; stops when nobody swaps.
__global__ void sort_segments(int* data, int* rounds) {
  __shared__ int s[BS * 2];
  int t = threadIdx.x;
  int* seg = data + blockIdx.x * BS * 2;
  s[t] = seg[t];
  s[t + BS] = seg[t + BS];
  __syncthreads();
  int passes = 0, moved;
  do {
    moved = 0;
    for (int phase = 0; phase < 2; ++phase) {
      int i = 2 * t + phase;
      if (i + 1 < BS * 2 && s[i] > s[i + 1]) {
        int x = s[i];
        s[i] = s[i + 1];
        s[i + 1] = x;
        moved = 1;
      }
      __syncthreads();
    }
    ++passes;
  } while (__syncthreads_or(moved));
  seg[2 * t] = s[2 * t];
  seg[2 * t + 1] = s[2 * t + 1];
  int sorted = __syncthreads_count(t == 0 || s[2 * t - 1] <= s[2 * t]);
  if (t == 0) rounds[blockIdx.x] = sorted == BS ? passes : -1;
}

int main() {
  const int blocks = 3, n = blocks * BS * 2;
  int *d, *rounds;
  long sum[blocks] = {0};
  CHECK(cudaMallocManaged(&d, n * sizeof(int)));
  CHECK(cudaMallocManaged(&rounds, blocks * sizeof(int)));
  for (int i = 0; i < n; ++i) sum[i / (BS * 2)] += d[i] = (i * 8191) % 997;
  sort_segments<<<blocks, BS>>>(d, rounds);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  int bad = 0;
  for (int b = 0; b < blocks; ++b) {
    long s = d[b * BS * 2];
    for (int k = 1; k < BS * 2; ++k) {
      bad += d[b * BS * 2 + k - 1] > d[b * BS * 2 + k];
      s += d[b * BS * 2 + k];
    }
    bad += s != sum[b] || rounds[b] < 1;
  }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(d));
  CHECK(cudaFree(rounds));
  return bad ? 1 : 0;
}
