// SPDX-License-Identifier: MIT
// Histogram with 16 bins; one thread of each block owns one bin inside the block.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define BINS 16
#define CHECK_CUDA(x) do { cudaError_t s_ = (x); if (s_ != cudaSuccess) { std::printf("error %d at %d\n", int(s_), __LINE__); return 1; } } while (false)

__global__ void hist(const unsigned char* px, int n, unsigned int* bins) {
  __shared__ unsigned int local[BINS];
  if (threadIdx.x < BINS) local[threadIdx.x] = 0u;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&local[px[i] >> 4], 1u);
  __syncthreads();
  if (threadIdx.x < BINS)
    bins[threadIdx.x] += local[threadIdx.x];
}

int main() {
  const int n = 5000;
  std::vector<unsigned char> px(n);
  for (int i = 0; i < n; ++i) px[i] = static_cast<unsigned char>((i * 131u) & 255u);
  unsigned char* dpx;
  unsigned int *dbins, bins[BINS];
  CHECK_CUDA(cudaMalloc(&dpx, n));
  CHECK_CUDA(cudaMalloc(&dbins, sizeof(bins)));
  CHECK_CUDA(cudaMemcpy(dpx, px.data(), n, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(dbins, 0, sizeof(bins)));
  hist<<<5, 64>>>(dpx, n, dbins);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMemcpy(bins, dbins, sizeof(bins), cudaMemcpyDeviceToHost));
  for (int b = 0; b < BINS; ++b) std::printf("%u ", bins[b]);
  std::printf("\n");
  CHECK_CUDA(cudaFree(dpx));
  CHECK_CUDA(cudaFree(dbins));
  return 0;
}
