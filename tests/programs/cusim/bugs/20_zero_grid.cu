// SPDX-License-Identifier: MIT
// Negate a short vector.
#include <cstdio>
#include <cuda_runtime.h>

#define SHOW(x) do { cudaError_t e = (x); if (e != cudaSuccess) printf("%s -> %s\n", #x, cudaGetErrorName(e)); } while (0)

__global__ void negate(int* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = -v[i];
}

void run_negate(int* d, int n) {
  const int threads = 256;
  int blocks = n / threads;
  negate<<<blocks, threads>>>(d, n);
  SHOW(cudaGetLastError());
}

int main() {
  const int n = 100;
  int h[n];
  for (int i = 0; i < n; ++i) h[i] = i;
  int* d;
  SHOW(cudaMalloc(&d, sizeof(h)));
  SHOW(cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice));
  run_negate(d, n);
  SHOW(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
  printf("h[5] = %d\n", h[5]);
  SHOW(cudaFree(d));
  return 0;
}
