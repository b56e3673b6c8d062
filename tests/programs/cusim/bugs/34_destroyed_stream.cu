// SPDX-License-Identifier: MIT
// Two launches on a stream.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void inc(int* v, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] += by;
}

int main() {
  const int n = 320;
  std::vector<int> h(n, 5);
  int* d;
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaMalloc(&d, n * sizeof(int)));
  CHECK(cudaMemcpy(d, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  inc<<<5, 64, 0, s>>>(d, n, 1);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaStreamDestroy(s));
  inc<<<5, 64, 0, s>>>(d, n, 10);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("%d\n", h[0]);
  CHECK(cudaFree(d));
  return 0;
}
