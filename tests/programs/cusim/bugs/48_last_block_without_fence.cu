// SPDX-License-Identifier: MIT
// Single-pass sum: the last block to finish adds the partial sums.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__device__ unsigned int ticket_counter = 0;

__device__ int warp_sum(int v) {
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  return v;
}

__global__ void sum(const int* in, int* partial, int* total) {
  __shared__ int w[4];
  __shared__ bool last;
  int v = warp_sum(in[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = w[0] + w[1] + w[2] + w[3];
    unsigned t = atomicAdd(&ticket_counter, 1u);
    last = t == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int s = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) s += partial[b];
    *total = s;
  }
}

int main() {
  const int blocks = 6, n = blocks * 128;
  std::vector<int> h(n, 2);
  int *a, *p, *t, r = 0;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&p, blocks * sizeof(int)));
  CHECK(cudaMalloc(&t, sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  sum<<<blocks, 128>>>(a, p, t);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&r, t, sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("%d\n", r);
  CHECK(cudaFree(a));
  CHECK(cudaFree(p));
  CHECK(cudaFree(t));
  return 0;
}
