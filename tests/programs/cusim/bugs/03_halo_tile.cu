// SPDX-License-Identifier: MIT
// One-dimensional blur with a halo in static shared memory.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define BLOCK 128
#define R 1
#define GPU(x) do { cudaError_t err = (x); if (err) { printf("gpu error %s\n", cudaGetErrorString(err)); return 1; } } while (0)

__global__ void blur(const int* in, int* out, int n) {
  __shared__ int tile[BLOCK + R];
  int g = blockIdx.x * BLOCK + threadIdx.x;
  int l = threadIdx.x + R;
  if (threadIdx.x < BLOCK - 1) tile[l] = in[g];
  if (threadIdx.x == 0) tile[0] = g > 0 ? in[g - 1] : 0;
  if (threadIdx.x == BLOCK - 1) {
    tile[l] = in[g];
    int right = g + 1 < n ? in[g + 1] : 0;
    tile[l + R] = right;
  }
  __syncthreads();
  int sum = tile[l - R] + tile[l];
  if (threadIdx.x != BLOCK - 1) sum += tile[l + R];
  out[g] = sum;
}

int main() {
  const int n = BLOCK * 6;
  static int h[BLOCK * 6];
  for (int i = 0; i < n; i++) h[i] = (i * 7) % 31;
  int *a, *b;
  GPU(cudaMalloc(&a, sizeof h));
  GPU(cudaMalloc(&b, sizeof h));
  GPU(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
  blur<<<n / BLOCK, BLOCK>>>(a, b, n);
  GPU(cudaGetLastError());
  GPU(cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost));
  long s = 0;
  for (int i = 0; i < n; i++) s += h[i];
  printf("checksum %ld\n", s);
  GPU(cudaFree(a));
  GPU(cudaFree(b));
  return 0;
}
