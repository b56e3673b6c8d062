// SPDX-License-Identifier: MIT
// Three-point smoothing stencil, templated on the element type.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e_ = (call);                                                     \
    if (e_ != cudaSuccess) {                                                     \
      std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));     \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

template <typename T>
__global__ void smooth(const T* __restrict__ in, T* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T left = i > 0 ? in[i - 1] : in[i];
  T mid = in[i];
  T right = in[i + 1];
  out[i] = (left + mid + right) / T(3);
}

int main() {
  const int n = 1024;
  std::vector<float> h(n);
  for (int i = 0; i < n; ++i) h[i] = float(i % 17);
  float *din = nullptr, *dout = nullptr;
  CHECK(cudaMalloc(&din, n * sizeof(float)));
  CHECK(cudaMalloc(&dout, n * sizeof(float)));
  CHECK(cudaMemcpy(din, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  smooth<float><<<(n + 255) / 256, 256>>>(din, dout, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h.data(), dout, n * sizeof(float), cudaMemcpyDeviceToHost));
  double s = 0;
  for (float v : h) s += v;
  std::printf("sum %.3f\n", s);
  CHECK(cudaFree(din));
  CHECK(cudaFree(dout));
  return 0;
}
