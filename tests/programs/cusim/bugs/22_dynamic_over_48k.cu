// SPDX-License-Identifier: MIT
// Per-block scan of a large row staged in dynamic shared memory.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

static bool good(cudaError_t e, int line) {
  if (e != cudaSuccess) std::printf("line %d: %s\n", line, cudaGetErrorString(e));
  return e == cudaSuccess;
}
#define G(x) good((x), __LINE__)

template <typename T>
__global__ void rotate_rows(const T* in, T* out, int n, int by) {
  extern __shared__ unsigned char raw[];
  T* row = reinterpret_cast<T*>(raw);
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = in[blockIdx.x * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = row[(i + by) % n];
}

int main() {
  const int n = 16384, rows = 2;
  std::vector<float> h(rows * n);
  for (int i = 0; i < rows * n; ++i) h[i] = float(i);
  float *a = nullptr, *b = nullptr;
  G(cudaMalloc(&a, h.size() * sizeof(float)));
  G(cudaMalloc(&b, h.size() * sizeof(float)));
  G(cudaMemcpy(a, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
  G(cudaMemset(b, 0, h.size() * sizeof(float)));
  rotate_rows<float><<<rows, 256, n * sizeof(float)>>>(a, b, n, 3);
  G(cudaGetLastError());
  G(cudaMemcpy(h.data(), b, h.size() * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g %g\n", h[0], h[n - 1]);
  G(cudaFree(a));
  G(cudaFree(b));
  return 0;
}
