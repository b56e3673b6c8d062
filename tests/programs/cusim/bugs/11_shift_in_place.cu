// SPDX-License-Identifier: MIT
// Shift every row of a matrix left by one, one block per row.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define COLS 96
#define ROWS 4

#define SAFE(call) do { cudaError_t _e = call; if (_e != cudaSuccess) { printf("CUDA failure: %s\n", cudaGetErrorString(_e)); exit(-1); } } while (0)

__global__ void shift_left(float* m) {
  float* row = m + blockIdx.x * COLS;
  int c = threadIdx.x;
  float next = 0.f;
  if (c + 1 < COLS) next = row[c + 1];
  row[c] = next;
}

int main() {
  std::vector<float> h(ROWS * COLS);
  for (size_t i = 0; i < h.size(); ++i) h[i] = float(i);
  float* d;
  SAFE(cudaMalloc(&d, h.size() * sizeof(float)));
  SAFE(cudaMemcpy(d, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
  shift_left<<<ROWS, COLS>>>(d);
  SAFE(cudaGetLastError());
  SAFE(cudaDeviceSynchronize());
  SAFE(cudaMemcpy(h.data(), d, h.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int r = 0; r < ROWS; ++r) printf("row %d starts %g ends %g\n", r, h[r * COLS], h[r * COLS + COLS - 1]);
  SAFE(cudaFree(d));
  return 0;
}
