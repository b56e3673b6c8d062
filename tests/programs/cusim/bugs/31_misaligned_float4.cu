// SPDX-License-Identifier: MIT
// Sum the first 32 elements of every row with vector loads.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define FETCH_FLOAT4(p) (reinterpret_cast<const float4*>(&(p))[0])
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

constexpr int PITCH = 33;

__global__ void row_sums(const float* m, float* out, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.f;
  for (int c = 0; c < 32; c += 4) {
    float4 q = FETCH_FLOAT4(m[r * PITCH + c]);
    s += q.x + q.y + q.z + q.w;
  }
  out[r] = s;
}

int main() {
  const int rows = 128;
  std::vector<float> h(rows * PITCH, 0.5f), r(rows);
  float *a, *b;
  CHECK(cudaMalloc(&a, h.size() * sizeof(float)));
  CHECK(cudaMalloc(&b, rows * sizeof(float)));
  CHECK(cudaMemcpy(a, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
  row_sums<<<2, 64>>>(a, b, rows);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(r.data(), b, rows * sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g %g\n", r[0], r[rows - 1]);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
