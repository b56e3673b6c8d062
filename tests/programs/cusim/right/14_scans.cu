// SPDX-License-Identifier: MIT
// Block scans: inclusive with two buffers and one barrier per step, in place with two barriers,
// and exclusive work-efficient with padding.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)
#define N 256
#define PAD(i) ((i) + ((i) >> 5))

__global__ void scan_two_buffers(const int* in, int* out) {
  __shared__ int buf[2 * N];
  int t = threadIdx.x, p = 0, q = 1;
  buf[t] = in[blockIdx.x * N + t];
  __syncthreads();
  for (int o = 1; o < N; o <<= 1) {
    p = 1 - p;
    q = 1 - q;
    buf[p * N + t] = t >= o ? buf[q * N + t] + buf[q * N + t - o] : buf[q * N + t];
    __syncthreads();
  }
  out[blockIdx.x * N + t] = buf[p * N + t];
}

__global__ void scan_in_place(const int* in, int* out) {
  __shared__ int s[N];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * N + t];
  for (int o = 1; o < N; o <<= 1) {
    __syncthreads();
    int v = 0;
    if (t >= o) v = s[t - o];
    __syncthreads();
    s[t] += v;
  }
  out[blockIdx.x * N + t] = s[t];
}

__global__ void scan_tree(const int* in, int* out) {
  __shared__ int s[PAD(N - 1) + 1];
  int t = threadIdx.x;
  const int* src = in + blockIdx.x * N;
  s[PAD(2 * t)] = src[2 * t];
  s[PAD(2 * t + 1)] = src[2 * t + 1];
  int off = 1;
  for (int d = N / 2; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[PAD(off * (2 * t + 2) - 1)] += s[PAD(off * (2 * t + 1) - 1)];
    off <<= 1;
  }
  if (t == 0) s[PAD(N - 1)] = 0;
  for (int d = 1; d < N; d <<= 1) {
    off >>= 1;
    __syncthreads();
    if (t < d) {
      int a = PAD(off * (2 * t + 1) - 1), b = PAD(off * (2 * t + 2) - 1);
      int x = s[a];
      s[a] = s[b];
      s[b] += x;
    }
  }
  __syncthreads();
  out[blockIdx.x * N + 2 * t] = s[PAD(2 * t)];
  out[blockIdx.x * N + 2 * t + 1] = s[PAD(2 * t + 1)];
}

int main() {
  const int blocks = 3, n = blocks * N;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = (i * 23) % 19 - 9;
  int *a, *b, bad = 0;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  for (int variant = 0; variant < 3; ++variant) {
    CHECK(cudaMemset(b, 0xff, n * sizeof(int)));
    if (variant == 0) scan_two_buffers<<<blocks, N>>>(a, b);
    if (variant == 1) scan_in_place<<<blocks, N>>>(a, b);
    if (variant == 2) scan_tree<<<blocks, N / 2>>>(a, b);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int k = 0; k < blocks; ++k) {
      int s = 0;
      for (int i = 0; i < N; ++i) {
        if (variant == 2) bad += r[k * N + i] != s;
        s += h[k * N + i];
        if (variant < 2) bad += r[k * N + i] != s;
      }
    }
  }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
