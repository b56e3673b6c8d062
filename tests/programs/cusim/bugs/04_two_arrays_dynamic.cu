// SPDX-License-Identifier: MIT
// Weighted block sums with two arrays carved out of dynamic shared memory.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(expr) if (cudaError_t e = (expr)) { std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e)); return 2; }

__global__ void weighted(const float* x, const float* w, float* out) {
  extern __shared__ float pool[];
  float* vals = pool;
  float* wts = pool + blockDim.x;
  unsigned t = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x + t;
  vals[t] = x[i];
  wts[t] = w[i];
  __syncthreads();
  if (t == 0) {
    float acc = 0.f;
    for (unsigned k = 0; k < blockDim.x; ++k) acc += vals[k] * wts[k];
    out[blockIdx.x] = acc;
  }
}

int main() {
  const int blocks = 4, threads = 96, n = blocks * threads;
  std::vector<float> x(n), w(n, 0.25f), r(blocks);
  for (int i = 0; i < n; ++i) x[i] = float(i & 15);
  float *dx, *dw, *dr;
  CUDA_OK(cudaMalloc(&dx, n * sizeof(float)));
  CUDA_OK(cudaMalloc(&dw, n * sizeof(float)));
  CUDA_OK(cudaMalloc(&dr, blocks * sizeof(float)));
  CUDA_OK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dw, w.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  size_t smem = threads * sizeof(float);
  weighted<<<blocks, threads, smem>>>(dx, dw, dr);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaMemcpy(r.data(), dr, blocks * sizeof(float), cudaMemcpyDeviceToHost));
  for (int b = 0; b < blocks; ++b) std::printf("block %d: %g\n", b, r[b]);
  CUDA_OK(cudaFree(dx));
  CUDA_OK(cudaFree(dw));
  CUDA_OK(cudaFree(dr));
  return 0;
}
