// SPDX-License-Identifier: MIT
// Blocks wait for a token from the last block of a big grid.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void token(int* flag, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == gridDim.x - 1) {
      atomicExch(flag, 1);
    } else {
      while (atomicAdd(flag, 0) == 0) { }
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) out[blockIdx.x * 32 + threadIdx.x] = blockIdx.x;
}

int main() {
  const int blocks = 8192;
  int *flag, *out, last = -1;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  CHECK(cudaMalloc(&out, blocks * 32 * sizeof(int)));
  CHECK(cudaMemset(flag, 0, sizeof(int)));
  token<<<blocks, 64>>>(flag, out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(&last, out + blocks * 32 - 1, sizeof(int), cudaMemcpyDeviceToHost));
  printf("%d\n", last);
  CHECK(cudaFree(flag));
  CHECK(cudaFree(out));
  return 0;
}
