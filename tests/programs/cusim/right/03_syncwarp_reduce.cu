// SPDX-License-Identifier: MIT
// Warp reduction in shared memory with __syncwarp between read and write; no volatile.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__device__ void warp_tree(int* s, int lane) {
  int v = s[lane];
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) {
    int u = lane + o < 32 ? s[lane + o] : 0;
    __syncwarp();
    v += u;
    s[lane] = v;
    __syncwarp();
  }
}

__global__ void warp_sums(const int* in, int* out) {
  extern __shared__ int sh[];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int* mine = sh + warp * 32;
  mine[lane] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncwarp();
  if (warp % 2 == 0) {
    warp_tree(mine, lane);
  } else {
    // Halving with only the lower lanes at work, the whole warp still meets.
    for (int o = 16; o > 0; o /= 2) {
      if (lane < o) mine[lane] += mine[lane + o];
      __syncwarp();
    }
  }
  if (lane == 0) out[blockIdx.x * (blockDim.x / 32) + warp] = mine[0];
}

int main() {
  const int blocks = 4, threads = 160, n = blocks * threads, w = n / 32;
  std::vector<int> h(n), r(w);
  for (int i = 0; i < n; ++i) h[i] = (i * i) % 51;
  int *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, w * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  warp_sums<<<blocks, threads, threads * sizeof(int)>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, w * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int k = 0; k < w; ++k) {
    int s = 0;
    for (int j = 0; j < 32; ++j) s += h[k * 32 + j];
    bad += s != r[k];
  }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
