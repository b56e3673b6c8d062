// SPDX-License-Identifier: MIT
// Tiled matrix product, square matrices.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) {
    fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
    exit(code);
  }
}

template <int TILE>
__global__ void matmul(const float* A, const float* B, float* C, int n) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float acc = 0.0f;
  for (int t = 0; t < n / TILE; ++t) {
    As[threadIdx.y][threadIdx.x] = A[row * n + t * TILE + threadIdx.x];
    Bs[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < TILE; ++k)
      acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
  }
  C[row * n + col] = acc;
}

int main() {
  const int n = 64;
  constexpr int T = 16;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = float(i % 5);
    b[i] = float(i % 7);
  }
  float *da, *db, *dc;
  size_t bytes = sizeof(float) * n * n;
  gpuErrchk(cudaMalloc(&da, bytes));
  gpuErrchk(cudaMalloc(&db, bytes));
  gpuErrchk(cudaMalloc(&dc, bytes));
  gpuErrchk(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
  gpuErrchk(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
  dim3 threads(T, T), blocks(n / T, n / T);
  matmul<T><<<blocks, threads>>>(da, db, dc, n);
  gpuErrchk(cudaPeekAtLastError());
  gpuErrchk(cudaDeviceSynchronize());
  gpuErrchk(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
  printf("c[0]=%g c[last]=%g\n", c[0], c[n * n - 1]);
  gpuErrchk(cudaFree(da));
  gpuErrchk(cudaFree(db));
  gpuErrchk(cudaFree(dc));
  return 0;
}
