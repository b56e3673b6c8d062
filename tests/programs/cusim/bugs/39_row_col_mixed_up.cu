// SPDX-License-Identifier: MIT
// Naive transpose of a matrix that is not square.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__host__ __device__ constexpr int at(int row, int col, int pitch) { return row * pitch + col; }

__global__ void transpose(const int* in, int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  out[at(x, y, w)] = in[at(y, x, w)];
}

int main() {
  const int w = 70, h = 40;
  std::vector<int> a(w * h), b(w * h);
  for (int i = 0; i < w * h; ++i) a[i] = i;
  int *da, *db;
  CHECK(cudaMalloc(&da, a.size() * sizeof(int)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(int)));
  CHECK(cudaMemset(db, 0, b.size() * sizeof(int)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(int), cudaMemcpyHostToDevice));
  transpose<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(da, db, w, h);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(b.data(), db, b.size() * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("%d %d\n", b[0], b[1]);
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  return 0;
}
