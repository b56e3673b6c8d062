// SPDX-License-Identifier: MIT
// Producer warp and consumer warps hand over slots between block barriers; no volatile anywhere.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
constexpr int STEPS = 6;

__global__ void pipeline(const int* in, int* out) {
  __shared__ int slot[2][32];
  __shared__ int done;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int* src = in + blockIdx.x * STEPS * 32;
  int acc = 0;
  if (threadIdx.x == 0) done = 0;
  if (warp == 0) slot[0][lane] = src[lane] + 1;
  __syncthreads();
  for (int s = 0; s < STEPS; ++s) {
    if (warp == 0) {
      if (s + 1 < STEPS) slot[(s + 1) & 1][lane] = src[(s + 1) * 32 + lane] + 1;
    } else {
      acc += slot[s & 1][(lane + warp) % 32];
    }
    __syncthreads();
    if (threadIdx.x == 0) done = s + 1;
    __syncthreads();
    if (done == STEPS) break;
  }
  if (warp > 0) out[(blockIdx.x * 3 + warp - 1) * 32 + lane] = acc;
}

int main() {
  const int blocks = 2, n = blocks * STEPS * 32, m = blocks * 3 * 32;
  std::vector<int> h(n), r(m);
  for (int i = 0; i < n; ++i) h[i] = (i * 19) % 71;
  int *a, *b, bad = 0;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, m * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  pipeline<<<blocks, 128>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, m * sizeof(int), cudaMemcpyDeviceToHost));
  for (int k = 0; k < blocks; ++k)
    for (int w = 1; w <= 3; ++w)
      for (int l = 0; l < 32; ++l) {
        int s = 0;
        for (int q = 0; q < STEPS; ++q) s += h[(k * STEPS + q) * 32 + (l + w) % 32] + 1;
        bad += r[(k * 3 + w - 1) * 32 + l] != s;
      }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
