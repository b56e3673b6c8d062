// SPDX-License-Identifier: MIT
// Count of even numbers, result read on the host.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__global__ void count_even(const int* v, int n, int* res) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (v[i] & 1) == 0) atomicAdd(res, 1);
}

int main() {
  const int n = 777;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i) h[i] = i * 3;
  int *dv, *dres;
  CHECK(cudaMalloc(&dv, n * sizeof(int)));
  CHECK(cudaMalloc(&dres, sizeof(int)));
  CHECK(cudaMemcpy(dv, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(dres, 0, sizeof(int)));
  count_even<<<(n + 191) / 192, 192>>>(dv, n, dres);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  int result = dres[0];
  std::printf("even: %d\n", result);
  CHECK(cudaFree(dv));
  CHECK(cudaFree(dres));
  return 0;
}
