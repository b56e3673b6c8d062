// SPDX-License-Identifier: MIT
// Producer half and consumer half of a block.
#include <cstdio>
#include <cuda_runtime.h>

#define N_THREADS 128
static const char* err(cudaError_t e) { return cudaGetErrorString(e); }
#define OK(x) do { cudaError_t q = (x); if (q != cudaSuccess) { printf("%s\n", err(q)); return 1; } } while (0)

__global__ void halves(const int* in, int* out) {
  __shared__ int box[N_THREADS / 2];
  const int t = threadIdx.x;
  const int half = N_THREADS / 2;
  const int base = blockIdx.x * half;
  if (t < half) {
    box[t] = in[base + t] * 3;
    __syncthreads();
  } else {
    int u = t - half;
    __syncthreads();
    out[base + u] = box[half - 1 - u];
  }
}

int main() {
  const int blocks = 2, n = blocks * N_THREADS / 2;
  int h[n];
  for (int i = 0; i < n; ++i) h[i] = i;
  int *a, *b;
  OK(cudaMalloc(&a, sizeof(h)));
  OK(cudaMalloc(&b, sizeof(h)));
  OK(cudaMemcpy(a, h, sizeof(h), cudaMemcpyHostToDevice));
  halves<<<blocks, N_THREADS>>>(a, b);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(h, b, sizeof(h), cudaMemcpyDeviceToHost));
  printf("%d %d\n", h[0], h[n - 1]);
  OK(cudaFree(a));
  OK(cudaFree(b));
  return 0;
}
