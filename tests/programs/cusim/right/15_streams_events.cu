// SPDX-License-Identifier: MIT
// Chunks on several streams, ordered across streams by events, with pinned host memory.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__global__ void affine(const int* in, int* out, int n, int k, int c) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * k + c;
}

__global__ void add(const int* a, const int* b, int* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i] + b[i];
}

int main() {
  const int n = 6000, chunks = 3, per = n / chunks;
  int *h, *r, *a, *b, *c;
  cudaStream_t st[chunks], join;
  cudaEvent_t up, done[chunks], t0, t1;
  CHECK(cudaMallocHost(&h, n * sizeof(int)));
  CHECK(cudaMallocHost(&r, n * sizeof(int)));
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMalloc(&c, n * sizeof(int)));
  CHECK(cudaStreamCreate(&join));
  CHECK(cudaEventCreate(&t0));
  CHECK(cudaEventCreate(&t1));
  CHECK(cudaEventCreateWithFlags(&up, cudaEventDisableTiming));
  for (int k = 0; k < chunks; ++k) {
    CHECK(cudaStreamCreateWithFlags(&st[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
  }
  for (int i = 0; i < n; ++i) h[i] = i;

  CHECK(cudaEventRecord(t0, join));
  CHECK(cudaMemcpyAsync(a, h, n * sizeof(int), cudaMemcpyHostToDevice, join));
  CHECK(cudaEventRecord(up, join));
  for (int k = 0; k < chunks; ++k) {
    CHECK(cudaStreamWaitEvent(st[k], up, 0));
    affine<<<2, 128, 0, st[k]>>>(a + k * per, b + k * per, per, k + 2, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(done[k], st[k]));
    CHECK(cudaStreamWaitEvent(join, done[k], 0));
  }
  add<<<4, 128, 0, join>>>(a, b, c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(r, c, n * sizeof(int), cudaMemcpyDeviceToHost, join));
  CHECK(cudaEventRecord(t1, join));
  CHECK(cudaEventSynchronize(t1));
  float ms = -1.f;
  CHECK(cudaEventElapsedTime(&ms, t0, t1));

  int bad = ms < 0.f;
  for (int i = 0; i < n; ++i) bad += r[i] != h[i] + h[i] * (i / per + 2) + 1;
  std::printf("%s\n", bad ? "WRONG" : "ok");
  for (int k = 0; k < chunks; ++k) {
    CHECK(cudaEventDestroy(done[k]));
    CHECK(cudaStreamDestroy(st[k]));
  }
  CHECK(cudaEventDestroy(up));
  CHECK(cudaEventDestroy(t0));
  CHECK(cudaEventDestroy(t1));
  CHECK(cudaStreamDestroy(join));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  CHECK(cudaFreeHost(h));
  CHECK(cudaFreeHost(r));
  return bad ? 1 : 0;
}
