// SPDX-License-Identifier: MIT
// In-place three-point sum, staged per block.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)
constexpr int BS = 64;

__global__ void sum3(long long* v, int n) {
  __shared__ long long s[BS + 2];
  int i = blockIdx.x * BS + threadIdx.x;
  int l = threadIdx.x + 1;
  s[l] = v[i];
  if (threadIdx.x == 0) s[0] = i > 0 ? v[i - 1] : 0;
  if (threadIdx.x == BS - 1) s[BS + 1] = i + 1 < n ? v[i + 1] : 0;
  __syncthreads();
  v[i] = s[l - 1] + s[l] + s[l + 1];
}

int main() {
  const int n = BS * 5;
  std::vector<long long> h(n);
  for (int i = 0; i < n; ++i) h[i] = i;
  long long* d;
  CHECK(cudaMalloc(&d, n * sizeof(long long)));
  CHECK(cudaMemcpy(d, h.data(), n * sizeof(long long), cudaMemcpyHostToDevice));
  sum3<<<n / BS, BS>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h.data(), d, n * sizeof(long long), cudaMemcpyDeviceToHost));
  std::printf("%lld %lld\n", h[0], h[BS]);
  CHECK(cudaFree(d));
  return 0;
}
