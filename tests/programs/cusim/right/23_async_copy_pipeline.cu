// SPDX-License-Identifier: MIT
// Asynchronous copies into two shared buffers with commit and wait.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
constexpr int BS = 64, STEPS = 5;

__global__ void staged(const int4* in, int* out) {
  __shared__ int4 buf[2][BS];
  int t = threadIdx.x, acc = 0;
  const int4* src = in + blockIdx.x * BS * STEPS;
  __pipeline_memcpy_async(&buf[0][t], src + t, sizeof(int4));
  __pipeline_commit();
  for (int s = 0; s < STEPS; ++s) {
    if (s + 1 < STEPS) __pipeline_memcpy_async(&buf[(s + 1) & 1][t], src + (s + 1) * BS + t, sizeof(int4));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    int4 q = buf[s & 1][(t + 7) % BS];
    acc += q.x + 2 * q.y + 3 * q.z + 4 * q.w;
    __syncthreads();
  }
  out[blockIdx.x * BS + t] = acc;
}

int main() {
  const int blocks = 3, n = blocks * BS * STEPS * 4;
  std::vector<int> h(n), r(blocks * BS);
  for (int i = 0; i < n; ++i) h[i] = (i * 3) % 41;
  int4* a;
  int* b;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, r.size() * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  staged<<<blocks, BS>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, r.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int k = 0; k < blocks; ++k)
    for (int t = 0; t < BS; ++t) {
      int s = 0;
      for (int q = 0; q < STEPS; ++q)
        for (int c = 0; c < 4; ++c) s += (c + 1) * h[((k * STEPS + q) * BS + (t + 7) % BS) * 4 + c];
      bad += s != r[k * BS + t];
    }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
