// SPDX-License-Identifier: MIT
// Matrix product with double-buffered tiles: one barrier per step is enough.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
constexpr int T = 16;

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[2][T][T + 1], b[2][T][T + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  auto load = [&](int buf, int k0) {
    a[buf][ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.f;
    b[buf][ty][tx] = (k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.f;
  };
  float acc = 0.f;
  int cur = 0;
  load(cur, 0);
  for (int k0 = 0; k0 < K; k0 += T) {
    __syncthreads();
    if (k0 + T < K) load(cur ^ 1, k0 + T);
    for (int k = 0; k < T; ++k) acc += a[cur][ty][k] * b[cur][k][tx];
    cur ^= 1;
  }
  if (row < M && col < N) C[row * N + col] = acc;
}

int main() {
  const int M = 50, N = 37, K = 71;
  std::vector<float> a(M * K), b(K * N), c(M * N);
  for (int i = 0; i < M * K; ++i) a[i] = float(i % 7) - 3.f;
  for (int i = 0; i < K * N; ++i) b[i] = float(i % 5) - 2.f;
  float *da, *db, *dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(float)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(float)));
  CHECK(cudaMalloc(&dc, c.size() * sizeof(float)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
  dim3 block(T, T), grid((N + T - 1) / T, (M + T - 1) / T);
  gemm<<<grid, block>>>(da, db, dc, M, N, K);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float s = 0.f;
      for (int k = 0; k < K; ++k) s += a[i * K + k] * b[k * N + j];
      bad += s != c[i * N + j];
    }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return bad ? 1 : 0;
}
