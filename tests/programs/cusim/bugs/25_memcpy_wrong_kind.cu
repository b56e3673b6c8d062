// SPDX-License-Identifier: MIT
// Elementwise product.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s at line %d\n", cudaGetErrorString(e), __LINE__); return 1; } } while (0)

__global__ void mul(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * b[i];
}

int main() {
  constexpr int n = 300;
  constexpr size_t bytes = n * sizeof(float);
  float a[n], b[n], c[n] = {};
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2.0f;
  float *da, *db, *dc;
  CHECK(cudaMalloc(&da, bytes));
  CHECK(cudaMalloc(&db, bytes));
  CHECK(cudaMalloc(&dc, bytes));
  CHECK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
  mul<<<(n + 63) / 64, 64>>>(da, db, dc, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c, dc, bytes, cudaMemcpyHostToDevice));
  printf("c[9] = %g\n", c[9]);
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return 0;
}
