// SPDX-License-Identifier: MIT
// Add two vectors.
#include <stdio.h>
#include <stdlib.h>

__global__ void add(const int* a, const int* b, int* c, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  int n = 400;
  size_t size = n * sizeof(int);
  int* a = (int*)malloc(size);
  int* b = (int*)malloc(size);
  int* c = (int*)malloc(size);
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = 2 * i;
  }
  int *d_a, *d_b, *d_c;
  cudaMalloc((void**)&d_a, size);
  cudaMalloc((void**)&d_b, size);
  cudaMalloc((void**)&d_c, size);
  cudaMemcpy(d_a, a, size, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b, size, cudaMemcpyHostToDevice);
  add<<<(n + 127) / 128, 128>>>(d_a, d_b, d_c, n);
  cudaMemcpy(c, d_c, size, cudaMemcpyDeviceToHost);
  printf("c[100] = %d\n", c[100]);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
  free(a);
  free(b);
  free(c);
  return 0;
}
