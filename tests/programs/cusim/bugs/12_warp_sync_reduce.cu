// SPDX-License-Identifier: MIT
// Block reduction with an unrolled last warp.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define NT 128
#define CK(x) if ((x) != cudaSuccess) { printf("CUDA error near line %d\n", __LINE__); exit(1); }

__device__ void last_warp(int* s, int t) {
#pragma unroll
  for (int step = 32; step > 0; step >>= 1)
    s[t] += s[t + step];
}

__global__ void reduce(const int* in, int* out) {
  __shared__ int s[NT];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * NT + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) last_warp(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}

int main() {
  const int blocks = 3, n = blocks * NT;
  int *h = (int*)malloc(n * sizeof(int)), r[blocks];
  for (int i = 0; i < n; ++i) h[i] = i % 10;
  int *di, *dout;
  CK(cudaMalloc(&di, n * sizeof(int)));
  CK(cudaMalloc(&dout, sizeof(r)));
  CK(cudaMemcpy(di, h, n * sizeof(int), cudaMemcpyHostToDevice));
  reduce<<<blocks, NT>>>(di, dout);
  CK(cudaGetLastError());
  CK(cudaMemcpy(r, dout, sizeof(r), cudaMemcpyDeviceToHost));
  for (int b = 0; b < blocks; ++b) printf("%d\n", r[b]);
  CK(cudaFree(di));
  CK(cudaFree(dout));
  free(h);
  return 0;
}
