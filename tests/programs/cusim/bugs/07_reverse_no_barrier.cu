// SPDX-License-Identifier: MIT
// Reverse each block-sized segment of an array.
#include <stdio.h>
#include <cuda_runtime.h>

#define TPB 256
#define TRY(c) { cudaError_t r = (c); if (r != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(r)); return 1; } }

__global__ void reverse_segments(int* data) {
  __shared__ int buf[TPB];
  int* seg = data + blockIdx.x * TPB;
  buf[threadIdx.x] = seg[threadIdx.x];
  seg[threadIdx.x] = buf[TPB - 1 - threadIdx.x];
}

int main() {
  enum { N = TPB * 4 };
  int h[N];
  for (int i = 0; i < N; ++i) h[i] = i;
  int* d = NULL;
  TRY(cudaMalloc((void**)&d, sizeof(h)));
  TRY(cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice));
  reverse_segments<<<N / TPB, TPB>>>(d);
  TRY(cudaGetLastError());
  TRY(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
  printf("%d %d %d\n", h[0], h[TPB - 1], h[TPB]);
  TRY(cudaFree(d));
  return 0;
}
