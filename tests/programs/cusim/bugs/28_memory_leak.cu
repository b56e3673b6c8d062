// SPDX-License-Identifier: MIT
// Iterated smoothing with a scratch buffer per pass.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__global__ void pass(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.5f * (in[i] + in[i > 0 ? i - 1 : i]);
}

static void smooth_once(float* d, int n) {
  float* scratch;
  CHECK(cudaMalloc(&scratch, n * sizeof(float)));
  pass<<<(n + 127) / 128, 128>>>(d, scratch, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(d, scratch, n * sizeof(float), cudaMemcpyDeviceToDevice));
}

int main() {
  const int n = 512;
  std::vector<float> h(n);
  for (int i = 0; i < n; ++i) h[i] = float(i % 9);
  float* d;
  CHECK(cudaMalloc(&d, n * sizeof(float)));
  CHECK(cudaMemcpy(d, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  for (int k = 0; k < 3; ++k) smooth_once(d, n);
  CHECK(cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%f\n", h[n / 2]);
  CHECK(cudaFree(d));
  return 0;
}
