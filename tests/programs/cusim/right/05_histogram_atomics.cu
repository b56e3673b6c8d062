// SPDX-License-Identifier: MIT
// Histogram: block-private bins with shared atomics, merged with global atomics.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

template <int BINS>
__global__ void histogram(const uchar4* px, int n4, unsigned* bins) {
  __shared__ unsigned sh[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) sh[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += blockDim.x * gridDim.x) {
    uchar4 q = px[i];
    atomicAdd(&sh[q.x % BINS], 1u);
    atomicAdd(&sh[q.y % BINS], 1u);
    atomicAdd(&sh[q.z % BINS], 1u);
    atomicAdd(&sh[q.w % BINS], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    if (unsigned c = sh[b]) atomicAdd(bins + b, c);
}

int main() {
  const int n = 12000, bins = 100;
  std::vector<unsigned char> h(n);
  for (int i = 0; i < n; ++i) h[i] = (unsigned char)((i * 2654435761u) >> 24);
  unsigned char* d;
  unsigned *db, r[bins], want[bins];
  memset(want, 0, sizeof want);
  for (unsigned char c : h) want[c % bins]++;
  CHECK(cudaMalloc(&d, n));
  CHECK(cudaMalloc(&db, sizeof r));
  CHECK(cudaMemset(db, 0, sizeof r));
  CHECK(cudaMemcpy(d, h.data(), n, cudaMemcpyHostToDevice));
  histogram<bins><<<5, 192>>>(reinterpret_cast<const uchar4*>(d), n / 4, db);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r, db, sizeof r, cudaMemcpyDeviceToHost));
  bool ok = memcmp(r, want, sizeof r) == 0;
  std::printf("%s\n", ok ? "ok" : "WRONG");
  CHECK(cudaFree(d));
  CHECK(cudaFree(db));
  return ok ? 0 : 1;
}
