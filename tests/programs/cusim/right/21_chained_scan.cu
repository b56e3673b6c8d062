// SPDX-License-Identifier: MIT
// Single-pass chained scan: a block takes its number from an atomic ticket, so it only ever
// waits for blocks that are already running.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
constexpr int BS = 128;

__global__ void chained(const int* in, int* out, int n, int* ticket, int* ready, int* carry) {
  __shared__ int s[BS];
  __shared__ int block_id, before;
  if (threadIdx.x == 0) block_id = atomicAdd(ticket, 1);
  __syncthreads();
  const int b = block_id, t = threadIdx.x, i = b * BS + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int o = 1; o < BS; o <<= 1) {
    int v = t >= o ? s[t - o] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (t == 0) {
    int c = 0;
    if (b > 0) {
      while (atomicAdd(&ready[b - 1], 0) == 0) { }
      __threadfence();
      c = *(volatile int*)&carry[b - 1];
    }
    *(volatile int*)&carry[b] = c + s[BS - 1];
    __threadfence();
    atomicExch(&ready[b], 1);
    before = c;
  }
  __syncthreads();
  if (i < n) out[i] = s[t] + before;
}

int main() {
  const int n = 1900, blocks = (n + BS - 1) / BS;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 7) % 13 - 5;
  int *a, *b, *ctl;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMalloc(&ctl, (1 + 2 * blocks) * sizeof(int)));
  CHECK(cudaMemset(ctl, 0, (1 + 2 * blocks) * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  chained<<<blocks, BS>>>(a, b, n, ctl, ctl + 1, ctl + 1 + blocks);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0, s = 0;
  for (int i = 0; i < n; ++i) bad += (s += h[i]) != r[i];
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(ctl));
  return bad ? 1 : 0;
}
