// SPDX-License-Identifier: MIT
// 64 KiB of dynamic shared memory after the proper opt-in; cudaMemset before use.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

extern __shared__ float4 pool4[];

__global__ void bit_shuffle(const float* in, float* out, int n) {
  float* s = reinterpret_cast<float*>(pool4);
  const float4* src = reinterpret_cast<const float4*>(in + size_t(blockIdx.x) * n);
  for (int i = threadIdx.x; i < n / 4; i += blockDim.x) pool4[i] = src[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[size_t(blockIdx.x) * n + i] += s[(i * 5 + 3) & (n - 1)];
}

int main() {
  const int n = 16384, rows = 2, smem = n * (int)sizeof(float);
  std::vector<float> h(rows * n), r(rows * n);
  for (int i = 0; i < rows * n; ++i) h[i] = float(i);
  float *a, *b;
  int limit = 0, dev = 0;
  CHECK(cudaGetDevice(&dev));
  CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, dev));
  if (limit < smem) {
    std::printf("device too small, skipped\n");
    return 0;
  }
  CHECK(cudaFuncSetAttribute(bit_shuffle, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  CHECK(cudaMalloc(&a, h.size() * sizeof(float)));
  CHECK(cudaMalloc(&b, h.size() * sizeof(float)));
  CHECK(cudaMemset(b, 0, h.size() * sizeof(float)));
  CHECK(cudaMemcpy(a, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
  bit_shuffle<<<rows, 256, smem>>>(a, b, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, r.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int k = 0; k < rows; ++k)
    for (int i = 0; i < n; ++i) bad += r[k * n + i] != h[k * n + ((i * 5 + 3) & (n - 1))];
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
