// SPDX-License-Identifier: MIT
// Row reversal staged in a very large dynamic shared buffer.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define REPORT(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e)); return 0; } } while (0)

__global__ void stage(const float* in, float* out, int n) {
  extern __shared__ float big[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) big[i] = in[blockIdx.x * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = big[n - 1 - i];
}

int main() {
  const int n = 65536, rows = 2;
  std::vector<float> h(rows * n);
  for (int i = 0; i < rows * n; ++i) h[i] = float(i % 1000);
  const int smem = n * int(sizeof(float));
  REPORT(cudaFuncSetAttribute(stage, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  float *a, *b;
  REPORT(cudaMalloc(&a, h.size() * sizeof(float)));
  REPORT(cudaMalloc(&b, h.size() * sizeof(float)));
  REPORT(cudaMemcpy(a, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
  stage<<<rows, 256, smem>>>(a, b, n);
  REPORT(cudaGetLastError());
  REPORT(cudaMemcpy(h.data(), b, h.size() * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g\n", h[0]);
  REPORT(cudaFree(a));
  REPORT(cudaFree(b));
  return 0;
}
