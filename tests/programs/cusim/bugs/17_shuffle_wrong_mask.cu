// SPDX-License-Identifier: MIT
// Butterfly maximum inside every warp.
#include <cstdio>
#include <cfloat>
#include <cuda_runtime.h>

#define HANDLE(e) do { cudaError_t z = (e); if (z != cudaSuccess) { fprintf(stderr, "failed: %s\n", cudaGetErrorString(z)); return 3; } } while (0)

__device__ inline float warp_max(float v) {
  const unsigned mask = 0x0000ffff;
  for (int d = 16; d >= 1; d >>= 1) {
    float o = __shfl_xor_sync(mask, v, d);
    v = fmaxf(v, o);
  }
  return v;
}

__global__ void warp_maxima(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : -FLT_MAX;
  v = warp_max(v);
  if ((threadIdx.x & 31) == 0) y[i / 32] = v;
}

int main() {
  const int n = 256;
  float h[n], r[n / 32];
  for (int i = 0; i < n; ++i) h[i] = (float)((i * 29) % 211);
  float *x, *y;
  HANDLE(cudaMalloc(&x, sizeof(h)));
  HANDLE(cudaMalloc(&y, sizeof(r)));
  HANDLE(cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice));
  warp_maxima<<<dim3(2), dim3(128)>>>(x, y, n);
  HANDLE(cudaGetLastError());
  HANDLE(cudaMemcpy(r, y, sizeof(r), cudaMemcpyDeviceToHost));
  for (float f : r) printf("%g ", f);
  printf("\n");
  HANDLE(cudaFree(x));
  HANDLE(cudaFree(y));
  return 0;
}
