// SPDX-License-Identifier: MIT
// Constant memory by cudaMemcpyToSymbol (also with an offset), device globals read back by symbol.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
#define RADIUS 3

struct Params { int n; int bias; };

__constant__ int taps[2 * RADIUS + 1];
__constant__ Params params;
__device__ unsigned int negatives;
__device__ int table[4] = {1, 10, 100, 1000};

__global__ void filter(const int* in, int* out) {
  __shared__ int s[128 + 2 * RADIUS];
  int g = blockIdx.x * 128 + threadIdx.x;
  for (int l = threadIdx.x; l < 128 + 2 * RADIUS; l += 128) {
    int j = int(blockIdx.x) * 128 + l - RADIUS;
    s[l] = j >= 0 && j < params.n ? in[j] : 0;
  }
  __syncthreads();
  if (g < params.n) {
    int acc = params.bias + table[g & 3];
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; ++k) acc += taps[k + RADIUS] * s[threadIdx.x + RADIUS + k];
    out[g] = acc;
    if (acc < 0) atomicInc(&negatives, 0xffffffffu);
  }
}

int main() {
  const int n = 500;
  int t[2 * RADIUS + 1] = {-1, 2, -3, 4, -3, 2, -1}, tab[4] = {1, 10, 100, 1000};
  Params p{n, 5};
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 29) % 37 - 18;
  int *a, *b;
  unsigned neg = 0;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(taps, t, 4 * sizeof(int)));
  CHECK(cudaMemcpyToSymbol(taps, t + 4, 3 * sizeof(int), 4 * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(params, &p, sizeof p));
  CHECK(cudaMemcpyToSymbol(negatives, &neg, sizeof neg));
  void* addr = nullptr;
  CHECK(cudaGetSymbolAddress(&addr, table));
  tab[2] = -100;
  CHECK(cudaMemcpy(static_cast<int*>(addr) + 2, tab + 2, sizeof(int), cudaMemcpyHostToDevice));
  filter<<<(n + 127) / 128, 128>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyFromSymbol(&neg, negatives, sizeof neg));
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  unsigned want_neg = 0;
  for (int i = 0; i < n; ++i) {
    int acc = 5 + tab[i & 3];
    for (int k = -RADIUS; k <= RADIUS; ++k)
      if (i + k >= 0 && i + k < n) acc += t[k + RADIUS] * h[i + k];
    bad += acc != r[i];
    want_neg += acc < 0;
  }
  bad += want_neg != neg;
  std::printf("%u %s\n", neg, bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
