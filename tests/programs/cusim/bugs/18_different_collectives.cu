// SPDX-License-Identifier: MIT
// Mix of a vote and an exchange inside a warp.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__global__ void mix(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = in[i];
  unsigned r;
  if (threadIdx.x & 1) {
    r = __shfl_xor_sync(0xffffffffu, v, 2);
  } else {
    r = __ballot_sync(0xffffffffu, v > 100u);
  }
  out[i] = r;
}

int main() {
  const int n = 192;
  std::vector<unsigned> h(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 53u) % 200u;
  unsigned *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&b, n * sizeof(unsigned)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  mix<<<2, 96>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(h.data(), b, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
  std::printf("%08x %u\n", h[0], h[1]);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return 0;
}
