// SPDX-License-Identifier: MIT
// Backward difference.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

template <typename T, int STEP = 1>
struct Diff {
  static __device__ T apply(const T* p, int i) {
    return p[i] - p[i - STEP];
  }
};

template <typename F, typename T>
__global__ void map(const T* in, T* out, int n) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= 0 && i < n) out[i] = F::apply(in, i);
}

int main() {
  const int n = 510;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = i * i;
  int *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  map<Diff<int>, int><<<(n + 127) / 128, 128>>>(a, b, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("%d %d\n", r[1], r[n - 1]);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
