// SPDX-License-Identifier: MIT
// Fill a vector with a ramp.
#include <stdio.h>
#include <stdlib.h>

static void must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    exit(EXIT_FAILURE);
  }
}

__device__ __forceinline__ float ramp(int i, float step) { return step * i; }

__global__ void fill_ramp(float* out, float step) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  out[i] = ramp(i, step);
}

int main(void) {
  const int N = 1000, B = 128;
  float* d;
  float* h = (float*)malloc(N * sizeof(float));
  must(cudaMalloc((void**)&d, N * sizeof(float)), "malloc");
  fill_ramp<<<(N + B - 1) / B, B>>>(d, 0.5f);
  must(cudaGetLastError(), "launch");
  must(cudaDeviceSynchronize(), "sync");
  must(cudaMemcpy(h, d, N * sizeof(float), cudaMemcpyDeviceToHost), "copy");
  printf("first %.1f last %.1f\n", h[0], h[N - 1]);
  must(cudaFree(d), "free");
  free(h);
  return 0;
}
