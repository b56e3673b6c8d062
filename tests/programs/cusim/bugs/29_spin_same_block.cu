// SPDX-License-Identifier: MIT
// Wait for a value published by the first thread of the block.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void publish(const int* seed, int* out) {
  __shared__ int ready;
  __shared__ int value;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = seed[blockIdx.x] * 2;
    __threadfence_block();
    ready = 1;
  } else {
    while (ready == 0) { }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value + (int)threadIdx.x;
}

int main() {
  const int blocks = 2, threads = 64;
  int seed[blocks] = {10, 20}, h[blocks * threads];
  int *ds, *dout;
  CHECK(cudaMalloc(&ds, sizeof seed));
  CHECK(cudaMalloc(&dout, sizeof h));
  CHECK(cudaMemcpy(ds, seed, sizeof seed, cudaMemcpyHostToDevice));
  publish<<<blocks, threads>>>(ds, dout);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, dout, sizeof h, cudaMemcpyDeviceToHost));
  printf("%d %d\n", h[1], h[threads + 1]);
  CHECK(cudaFree(ds));
  CHECK(cudaFree(dout));
  return 0;
}
