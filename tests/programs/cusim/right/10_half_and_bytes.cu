// SPDX-License-Identifier: MIT
// Different threads write the two halves (and the four bytes) of one 32-bit word: no race.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__global__ void to_half(const float* in, __half* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2half(in[i]);
}

// Even elements by the first warp, odd ones by the second, then pairs are read as __half2.
__global__ void pair_sum(const __half* in, float* out) {
  __shared__ __align__(4) __half s[64];
  __shared__ unsigned char flags[64];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  s[2 * lane + warp] = in[blockIdx.x * 64 + 2 * lane + warp];
  flags[(t * 37) % 64] = (unsigned char)(t & 1);
  __syncthreads();
  if (t < 32) {
    __half2 p = reinterpret_cast<const __half2*>(s)[t];
    float2 f = __half22float2(p);
    out[blockIdx.x * 32 + t] = f.x + f.y + float(flags[t]);
  }
}

int main() {
  const int blocks = 3, n = blocks * 64;
  std::vector<float> h(n), r(n / 2);
  for (int i = 0; i < n; ++i) h[i] = float(i % 33) * 0.25f;
  float *a, *c;
  __half* b;
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&b, n * sizeof(__half)));
  CHECK(cudaMalloc(&c, n / 2 * sizeof(float)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  to_half<<<(n + 32) / 33, 33>>>(a, b, n);  // block borders fall inside 32-bit words
  CHECK(cudaGetLastError());
  pair_sum<<<blocks, 64>>>(b, c);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), c, n / 2 * sizeof(float), cudaMemcpyDeviceToHost));
  int flag[64], bad = 0;
  for (int t = 0; t < 64; ++t) flag[(t * 37) % 64] = t & 1;
  for (int k = 0; k < n / 2; ++k) bad += r[k] != h[2 * k] + h[2 * k + 1] + float(flag[k % 32]);
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  return bad ? 1 : 0;
}
