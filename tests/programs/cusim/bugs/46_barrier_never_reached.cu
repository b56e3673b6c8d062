// SPDX-License-Identifier: MIT
// Hand a value from the second warp to the first.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__device__ void wait_for(int* flag) {
  while (atomicAdd(flag, 0) == 0) { }
}

__global__ void handoff(const int* in, int* out) {
  __shared__ int flag;
  __shared__ int box;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) wait_for(&flag);
  if (threadIdx.x == 32) box = in[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 32) atomicExch(&flag, 1);
  if (threadIdx.x == 0) out[blockIdx.x] = box;
}

int main() {
  int h[2] = {7, 9}, *a, *b;
  CHECK(cudaMalloc(&a, sizeof h));
  CHECK(cudaMalloc(&b, sizeof h));
  CHECK(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
  handoff<<<2, 64>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost));
  printf("%d %d\n", h[0], h[1]);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
