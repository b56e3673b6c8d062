// SPDX-License-Identifier: MIT
// Block-wise neighbour average with a tail.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::fprintf(stderr, "%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void avg(const float* in, float* out, float* head, int n) {
  __shared__ float cache[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  cache[threadIdx.x] = i < n ? in[i] : 0.0f;
  if (i < n) {
    __syncthreads();
    int j = (threadIdx.x + 1) % 128;
    out[i] = 0.5f * (cache[threadIdx.x] + cache[j]);
  }
  __syncthreads();
  if (threadIdx.x == 64) head[blockIdx.x] = cache[0];
}

int main() {
  const int n = 128 * 2 + 40;
  std::vector<float> h(n);
  for (int i = 0; i < n; ++i) h[i] = float(i);
  float *a, *b, *c, first[3];
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&b, n * sizeof(float)));
  CHECK(cudaMalloc(&c, sizeof(first)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  avg<<<(n + 127) / 128, 128>>>(a, b, c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(first, c, sizeof(first), cudaMemcpyDeviceToHost));
  std::printf("%g %g %g\n", h[0], h[n - 1], first[2]);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  return 0;
}
