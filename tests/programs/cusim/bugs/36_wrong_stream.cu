// SPDX-License-Identifier: MIT
// Kernel and copies on two non-blocking streams.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void triple(int* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] *= 3;
}

int main() {
  const int n = 4096;
  int *h, *d;
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMalloc(&d, n * sizeof(int)));
  for (int i = 0; i < n; ++i) h[i] = i;
  CHECK(cudaMemcpyAsync(d, h, n * sizeof(int), cudaMemcpyHostToDevice, a));
  triple<<<n / 256, 256, 0, a>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, b));
  CHECK(cudaStreamSynchronize(b));
  CHECK(cudaStreamSynchronize(a));
  printf("%d\n", h[7]);
  CHECK(cudaFree(d));
  CHECK(cudaFreeHost(h));
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
  return 0;
}
