// SPDX-License-Identifier: MIT
// Column sums by atomics.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void col_sums(const float* m, float* sums, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols)
    atomicAdd(sums + c, m[r * cols + c]);
}

int main() {
  const int rows = 30, cols = 50;
  std::vector<float> m(rows * cols, 1.0f), s(cols);
  float *dm, *ds;
  CHECK(cudaMalloc(&dm, m.size() * sizeof(float)));
  CHECK(cudaMalloc(&ds, cols * sizeof(float)));
  CHECK(cudaMemcpy(dm, m.data(), m.size() * sizeof(float), cudaMemcpyHostToDevice));
  dim3 block(16, 8), grid((cols + 15) / 16, (rows + 7) / 8);
  col_sums<<<grid, block>>>(dm, ds, rows, cols);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(s.data(), ds, cols * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g %g\n", s[0], s[cols - 1]);
  CHECK(cudaFree(dm));
  CHECK(cudaFree(ds));
  return 0;
}
