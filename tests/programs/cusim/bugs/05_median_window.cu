// SPDX-License-Identifier: MIT
// Five-wide median filter with a small sorted window per thread.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHK(x) do { auto rc = (x); if (rc != cudaSuccess) { printf("%s failed: %s\n", #x, cudaGetErrorString(rc)); exit(1); } } while (0)

constexpr int W = 5;

__device__ int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__device__ void sort_window(float* w) {
  for (int a = 1; a < W; ++a) {
    float key = w[a];
    int b = a - 1;
    while (b >= 0 && w[b] > key) {
      w[b + 1] = w[b];
      --b;
    }
    w[b + 1] = key;
  }
}

__global__ void median(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float win[W];
    for (int k = 0; k <= W; ++k)
      win[k] = in[clampi(i + k - W / 2, 0, n - 1)];
    sort_window(win);
    out[i] = win[W / 2];
  }
}

int main() {
  const int n = 700;
  float h[n];
  for (int i = 0; i < n; ++i) h[i] = (float)((i * 37) % 101);
  float *a, *b;
  CHK(cudaMalloc(&a, sizeof(h)));
  CHK(cudaMalloc(&b, sizeof(h)));
  CHK(cudaMemcpy(a, h, sizeof(h), cudaMemcpyHostToDevice));
  dim3 block(64), grid((n + 63) / 64);
  median<<<grid, block>>>(a, b, n);
  CHK(cudaPeekAtLastError());
  CHK(cudaDeviceSynchronize());
  CHK(cudaMemcpy(h, b, sizeof(h), cudaMemcpyDeviceToHost));
  printf("%g %g %g\n", h[0], h[n / 2], h[n - 1]);
  CHK(cudaFree(a));
  CHK(cudaFree(b));
  return 0;
}
