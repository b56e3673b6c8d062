// SPDX-License-Identifier: MIT
// Single-pass sum: threadfence, atomic ticket, the last block adds the partials.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); std::exit(1); } } while (0)

__device__ unsigned int retired = 0;

template <int BS>
__device__ int block_sum(int v, int* sh) {
  int t = threadIdx.x;
  sh[t] = v;
  __syncthreads();
  for (int s = BS / 2; s > 0; s >>= 1) {
    if (t < s) sh[t] += sh[t + s];
    __syncthreads();
  }
  return sh[0];
}

template <int BS>
__global__ void sum_once(const int* __restrict__ in, int n, volatile int* partial, int* total) {
  __shared__ int sh[BS];
  __shared__ bool am_last;
  int v = 0;
  for (int i = blockIdx.x * BS + threadIdx.x; i < n; i += gridDim.x * BS) v += in[i];
  int s = block_sum<BS>(v, sh);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    unsigned t = atomicInc(&retired, gridDim.x);
    am_last = (t == gridDim.x - 1);
  }
  __syncthreads();
  if (am_last) {
    int w = 0;
    for (int b = threadIdx.x; b < (int)gridDim.x; b += BS) w += partial[b];
    int all = block_sum<BS>(w, sh);
    if (threadIdx.x == 0) {
      *total = all;
      retired = 0;
    }
  }
}

int main() {
  const int n = 10007, blocks = 9;
  std::vector<int> h(n);
  long want = 0;
  for (int i = 0; i < n; ++i) want += h[i] = (i * 31) % 97 - 40;
  int *din, *dp, *dt, got = 0;
  CHECK(cudaMalloc(&din, n * sizeof(int)));
  CHECK(cudaMalloc(&dp, blocks * sizeof(int)));
  CHECK(cudaMalloc(&dt, sizeof(int)));
  CHECK(cudaMemcpy(din, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  bool ok = true;
  for (int round = 0; round < 2; ++round) {
    sum_once<128><<<blocks, 128>>>(din, n, dp, dt);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&got, dt, sizeof(int), cudaMemcpyDeviceToHost));
    ok = ok && got == want;
  }
  std::printf("%d %ld %s\n", got, want, ok ? "ok" : "WRONG");
  CHECK(cudaFree(din));
  CHECK(cudaFree(dp));
  CHECK(cudaFree(dt));
  return ok ? 0 : 1;
}
