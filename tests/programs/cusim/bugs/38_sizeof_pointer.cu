// SPDX-License-Identifier: MIT
// Upload of a table.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) printf("line %d: %s\n", __LINE__, cudaGetErrorString(e)); } while (0)

__global__ void half_of(float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) v[i] *= 0.5f;
}

int main() {
  const int n = 1 << 12;
  float* h = (float*)calloc(n, sizeof(float));
  for (int i = 0; i < n; ++i) h[i] = 8.f;
  float* d;
  CHECK(cudaMalloc(&d, n));
  CHECK(cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice));
  half_of<<<n / 256, 256>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h, d, n, cudaMemcpyDeviceToHost));
  printf("%g\n", h[1]);
  CHECK(cudaFree(d));
  free(h);
  return 0;
}
