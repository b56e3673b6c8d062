// SPDX-License-Identifier: MIT
// Polynomial with coefficients in constant memory.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e)); } } while (0)

__constant__ float coef[16];

__global__ void poly(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r = 0.f;
  for (int k = 15; k >= 0; --k) r = r * x[i] + coef[k];
  y[i] = r;
}

int main() {
  const int n = 256;
  std::vector<float> c(17, 0.5f), x(n, 0.5f), y(n);
  CHECK(cudaMemcpyToSymbol(coef, c.data(), c.size() * sizeof(float)));
  float *dx, *dy;
  CHECK(cudaMalloc(&dx, n * sizeof(float)));
  CHECK(cudaMalloc(&dy, n * sizeof(float)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  poly<<<4, 64>>>(dx, dy, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g\n", y[0]);
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dy));
  return 0;
}
