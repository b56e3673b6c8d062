// SPDX-License-Identifier: MIT
// Count matches per block with a shared counter.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void matches(const int* v, int key, int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (v[i] == key) atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = count;
}

int main() {
  const int blocks = 4, threads = 160, n = blocks * threads;
  std::vector<int> h(n), r(blocks);
  for (int i = 0; i < n; ++i) h[i] = i % 4;
  int *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, blocks * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  matches<<<blocks, threads>>>(a, 2, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  for (int v : r) std::printf("%d ", v);
  std::printf("\n");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
