// SPDX-License-Identifier: MIT
// Early returns: whole blocks before a block barrier, whole warps where only warp barriers follow,
// single threads where nothing follows; and a barrier under a condition that is the same for the block.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__global__ void mirror_blocks(const int* in, int* out, int full_blocks) {
  __shared__ int s[96];
  if ((int)blockIdx.x >= full_blocks) return;
  int base = blockIdx.x * 96;
  s[threadIdx.x] = in[base + threadIdx.x];
  if (blockIdx.x & 1) {
    __syncthreads();
    out[base + threadIdx.x] = s[95 - threadIdx.x];
  } else {
    __syncthreads();
    out[base + threadIdx.x] = s[(threadIdx.x + 40) % 96];
  }
}

__global__ void rotate_warps(const int* in, int* out, int full_warps) {
  __shared__ int s[128];
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (w >= full_warps) return;
  int lane = threadIdx.x % 32, i = w * 32 + lane;
  s[threadIdx.x] = in[i];
  __syncwarp();
  out[i] = s[(threadIdx.x & ~31) + (lane + 5) % 32];
}

__global__ void plain(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] % 2 == 0) {
    out[i] = in[i] / 2;
    return;
  }
  out[i] = 3 * in[i] + 1;
}

int main() {
  const int n = 96 * 4;
  std::vector<int> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = i * 5 + 1;
  int *a, *b, bad = 0;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));

  mirror_blocks<<<6, 96>>>(a, b, 4);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) {
    int base = i / 96 * 96, t = i % 96;
    bad += r[i] != ((i / 96) % 2 ? h[base + 95 - t] : h[base + (t + 40) % 96]);
  }

  const int warps = n / 32 - 2;
  rotate_warps<<<4, 128>>>(a, b, warps);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < warps * 32; ++i) bad += r[i] != h[i / 32 * 32 + (i % 32 + 5) % 32];

  plain<<<4, 128>>>(a, b, n - 11);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, (n - 11) * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n - 11; ++i) bad += r[i] != (h[i] % 2 == 0 ? h[i] / 2 : 3 * h[i] + 1);

  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
