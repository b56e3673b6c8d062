// SPDX-License-Identifier: MIT
// Ping-pong buffers with a swap.
#include <cstdio>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e)); } while (0)

__global__ void dbl(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = 2 * a[i];
}

int main() {
  const int n = 384;
  std::vector<int> h(n, 1);
  int *cur, *next;
  CHECK(cudaMalloc(&cur, n * sizeof(int)));
  CHECK(cudaMalloc(&next, n * sizeof(int)));
  int* first = cur;
  CHECK(cudaMemcpy(cur, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  for (int k = 0; k < 4; ++k) {
    dbl<<<3, 128>>>(cur, next, n);
    CHECK(cudaGetLastError());
    std::swap(cur, next);
  }
  CHECK(cudaMemcpy(h.data(), cur, n * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("%d\n", h[0]);
  CHECK(cudaFree(cur));
  CHECK(cudaFree(next));
  CHECK(cudaFree(first));
  return 0;
}
