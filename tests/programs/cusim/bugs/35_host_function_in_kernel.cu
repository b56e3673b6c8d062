// SPDX-License-Identifier: MIT
// Apply a helper to every element.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

float cube(float v) { return v * v * v; }

__global__ void apply(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    v[i] = cube(v[i]);
}

int main() {
  const int n = 200;
  std::vector<float> h(n, 2.0f);
  float* d;
  CHECK(cudaMalloc(&d, n * sizeof(float)));
  CHECK(cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  apply<<<4, 64>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g\n", h[0]);
  CHECK(cudaFree(d));
  return 0;
}
