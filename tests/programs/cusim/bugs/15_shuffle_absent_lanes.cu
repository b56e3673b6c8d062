// SPDX-License-Identifier: MIT
// Half-warp sums with a block barrier afterwards.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define FULL 0xffffffffu
#define CHECK(c) do { if ((c) != cudaSuccess) { puts("cuda call failed"); exit(1); } } while (0)

template <int WIDTH>
__device__ int half_sum(int v) {
  for (int o = WIDTH / 2; o > 0; o /= 2)
    v += __shfl_down_sync(FULL, v, o, WIDTH);
  return v;
}

__global__ void sums(const int* in, int* out) {
  __shared__ int part[4];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (lane < 16) {
    v = half_sum<16>(v);
    if (lane == 0) part[warp] = v;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}

int main() {
  const int n = 256;
  int h[n], r[2];
  for (int i = 0; i < n; ++i) h[i] = 1;
  int *di, *dr;
  CHECK(cudaMalloc(&di, sizeof h));
  CHECK(cudaMalloc(&dr, sizeof r));
  CHECK(cudaMemcpy(di, h, sizeof h, cudaMemcpyHostToDevice));
  sums<<<2, 128>>>(di, dr);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(r, dr, sizeof r, cudaMemcpyDeviceToHost));
  printf("%d %d\n", r[0], r[1]);
  CHECK(cudaFree(di));
  CHECK(cudaFree(dr));
  return 0;
}
