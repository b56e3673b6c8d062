// SPDX-License-Identifier: MIT
// Two-stage pipeline: square, then scale.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

inline bool ok(cudaError_t e) {
  if (e == cudaSuccess) return true;
  std::printf("CUDA: %s\n", cudaGetErrorString(e));
  return false;
}

__global__ void square(const float* a, float* t, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) t[i] = a[i] * a[i];
}

__global__ void scale(const float* t, float* o, float k, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    o[i] = k * t[i];
}

int main() {
  const int n = 2000;
  const size_t bytes = n * sizeof(float);
  std::vector<float> h(n, 3.0f);
  float *a, *tmp, *o;
  if (!ok(cudaMalloc(&a, bytes)) || !ok(cudaMalloc(&tmp, bytes)) || !ok(cudaMalloc(&o, bytes))) return 1;
  if (!ok(cudaMemcpy(a, h.data(), bytes, cudaMemcpyHostToDevice))) return 1;
  square<<<3, 128>>>(a, tmp, n);
  if (!ok(cudaGetLastError())) return 1;
  if (!ok(cudaFree(tmp))) return 1;
  scale<<<3, 128>>>(tmp, o, 0.5f, n);
  if (!ok(cudaGetLastError())) return 1;
  if (!ok(cudaMemcpy(h.data(), o, bytes, cudaMemcpyDeviceToHost))) return 1;
  std::printf("h[7] = %f\n", h[7]);
  if (!ok(cudaFree(a)) || !ok(cudaFree(o))) return 1;
  return 0;
}
