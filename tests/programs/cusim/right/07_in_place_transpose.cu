// SPDX-License-Identifier: MIT
// In-place transpose of a square matrix: each block exchanges a pair of tiles through padded shared tiles.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
#define TILE 32
#define ROWS 8

__global__ void transpose_in_place(float* m, int n) {
  __shared__ float up[TILE][TILE + 1];
  __shared__ float lo[TILE][TILE + 1];
  const int bx = blockIdx.x, by = blockIdx.y;
  if (by > bx) return;
  const int x0 = bx * TILE, y0 = by * TILE;
  for (int r = threadIdx.y; r < TILE; r += ROWS) {
    if (x0 + threadIdx.x < n && y0 + r < n) up[r][threadIdx.x] = m[(y0 + r) * n + x0 + threadIdx.x];
    if (bx != by && y0 + threadIdx.x < n && x0 + r < n) lo[r][threadIdx.x] = m[(x0 + r) * n + y0 + threadIdx.x];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < TILE; r += ROWS) {
    if (y0 + threadIdx.x < n && x0 + r < n) m[(x0 + r) * n + y0 + threadIdx.x] = up[threadIdx.x][r];
    if (bx != by && x0 + threadIdx.x < n && y0 + r < n) m[(y0 + r) * n + x0 + threadIdx.x] = lo[threadIdx.x][r];
  }
}

int main() {
  const int n = 83;
  std::vector<float> h(n * n), r(n * n);
  for (int i = 0; i < n * n; ++i) h[i] = float(i);
  float* d;
  CHECK(cudaMalloc(&d, h.size() * sizeof(float)));
  CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
  dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  transpose_in_place<<<grid, dim3(TILE, ROWS)>>>(d, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), d, r.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) bad += r[x * n + y] != h[y * n + x];
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(d));
  return bad ? 1 : 0;
}
