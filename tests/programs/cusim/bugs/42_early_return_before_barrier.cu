// SPDX-License-Identifier: MIT
// Ring shift inside each block, guarded by an early return.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void ring(const short* in, short* out, int n) {
  extern __shared__ short ringbuf[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  ringbuf[threadIdx.x] = in[i];
  __syncthreads();
  int last = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x)) - 1;
  out[i] = threadIdx.x == 0 ? ringbuf[last] : ringbuf[threadIdx.x - 1];
}

int main() {
  const int n = 2 * 96 + 50;
  std::vector<short> h(n);
  for (int i = 0; i < n; ++i) h[i] = short(i);
  short *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(short)));
  CHECK(cudaMalloc(&b, n * sizeof(short)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(short), cudaMemcpyHostToDevice));
  ring<<<(n + 95) / 96, 96, 96 * sizeof(short)>>>(a, b, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h.data(), b, n * sizeof(short), cudaMemcpyDeviceToHost));
  std::printf("%d %d\n", h[0], h[n - 1]);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
