// SPDX-License-Identifier: MIT
// Running maximum over chunks, one block per row.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define RET(x) if ((x) != cudaSuccess) return 1

__global__ void row_max(const int* m, int n, int* out) {
  __shared__ int best[64];
  const int* row = m + blockIdx.x * n;
  best[threadIdx.x] = row[threadIdx.x];
  for (int c = threadIdx.x; c < n; c += blockDim.x) {
    best[threadIdx.x] = max(best[threadIdx.x], row[c]);
    __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int b = best[0];
    for (int k = 1; k < 64; ++k) b = max(b, best[k]);
    out[blockIdx.x] = b;
  }
}

int main() {
  const int rows = 3, n = 64 * 3 + 44;
  std::vector<int> h(rows * n), r(rows);
  for (int i = 0; i < rows * n; ++i) h[i] = (i * 97) % 1009;
  int *dm, *dr;
  RET(cudaMalloc(&dm, h.size() * sizeof(int)));
  RET(cudaMalloc(&dr, rows * sizeof(int)));
  RET(cudaMemcpy(dm, h.data(), h.size() * sizeof(int), cudaMemcpyHostToDevice));
  row_max<<<rows, 64>>>(dm, n, dr);
  RET(cudaGetLastError());
  RET(cudaDeviceSynchronize());
  RET(cudaMemcpy(r.data(), dr, rows * sizeof(int), cudaMemcpyDeviceToHost));
  for (int v : r) std::printf("%d\n", v);
  RET(cudaFree(dm));
  RET(cudaFree(dr));
  return 0;
}
