// SPDX-License-Identifier: MIT
// Asynchronous download into pinned memory.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void iota(int* v, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v[i] = i;
}

int main() {
  const int n = 10000;
  int *d, *h;
  cudaStream_t st;
  CHECK(cudaStreamCreate(&st));
  CHECK(cudaMalloc(&d, n * sizeof(int)));
  CHECK(cudaHostAlloc((void**)&h, n * sizeof(int), cudaHostAllocDefault));
  for (int i = 0; i < n; ++i) h[i] = 0;
  iota<<<4, 128, 0, st>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, st));
  long long s = 0;
  for (int i = 0; i < n; ++i) s += h[i];
  CHECK(cudaStreamSynchronize(st));
  printf("%lld\n", s);
  CHECK(cudaFree(d));
  CHECK(cudaFreeHost(h));
  CHECK(cudaStreamDestroy(st));
  return 0;
}
