// SPDX-License-Identifier: MIT
// Block sums with a tail.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

template <unsigned BS>
__global__ void block_sum(const int* in, int* out, int n) {
  __shared__ int sh[BS];
  unsigned t = threadIdx.x;
  unsigned i = blockIdx.x * BS + t;
  if (i < (unsigned)n) sh[t] = in[i];
  __syncthreads();
  for (unsigned s = BS / 2; s > 0; s >>= 1) {
    if (t < s)
      sh[t] += sh[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sh[0];
}

int main() {
  const int n = 700, blocks = (n + 255) / 256;
  std::vector<int> h(n, 1), r(blocks);
  int *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, blocks * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  block_sum<256><<<blocks, 256>>>(a, b, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  for (int v : r) std::printf("%d ", v);
  std::printf("\n");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
