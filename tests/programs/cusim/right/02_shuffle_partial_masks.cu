// SPDX-License-Identifier: MIT
// Shuffles in divergent code whose masks name exactly the lanes that arrive.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

// Low half sums, high half takes the maximum, each with its own mask.
__global__ void halves(const int* in, int* out) {
  int lane = threadIdx.x & 31;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = in[i];
  if (lane < 16) {
    for (int o = 8; o > 0; o >>= 1) v += __shfl_xor_sync(0x0000ffffu, v, o);
  } else {
    for (int o = 8; o > 0; o >>= 1) v = max(v, __shfl_xor_sync(0xffff0000u, v, o));
  }
  __syncwarp();
  out[i] = v;
}

// Tail handling: the ballot gives the mask of the lanes that go on.
__global__ void tail_prefix(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  unsigned live = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    int v = in[i];
    for (int o = 1; o < 32; o <<= 1) {
      int u = __shfl_up_sync(live, v, o);
      if (lane >= o) v += u;
    }
    out[i] = v;
  }
}

// A loop that lanes leave at different times; the mask shrinks with them.
__global__ void shrinking(const int* trips, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int left = trips[i], seen = 0;
  unsigned mask = __ballot_sync(0xffffffffu, left > 0);
  while (left > 0) {
    seen += __popc(mask);
    --left;
    mask = __ballot_sync(mask, left > 0);
  }
  out[i] = seen;
}

int main() {
  const int n = 192, m = 177;
  std::vector<int> h(n), r(n), trips(n);
  for (int i = 0; i < n; ++i) {
    h[i] = (i * 41) % 113;
    trips[i] = (i * 7) % 5;
  }
  int *a, *b, *t;
  CHECK(cudaMalloc(&a, n * sizeof(int)));
  CHECK(cudaMalloc(&b, n * sizeof(int)));
  CHECK(cudaMalloc(&t, n * sizeof(int)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(t, trips.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  int bad = 0;

  halves<<<2, 96>>>(a, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int g = 0; g < n; g += 16) {
    int s = 0, mx = h[g];
    for (int k = 0; k < 16; ++k) {
      s += h[g + k];
      mx = h[g + k] > mx ? h[g + k] : mx;
    }
    for (int k = 0; k < 16; ++k) bad += r[g + k] != ((g / 16) % 2 == 0 ? s : mx);
  }

  tail_prefix<<<2, 96>>>(a, b, m);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, m * sizeof(int), cudaMemcpyDeviceToHost));
  for (int w = 0; w < m; w += 32) {
    int s = 0;
    for (int k = w; k < w + 32 && k < m; ++k) {
      s += h[k];
      bad += r[k] != s;
    }
  }

  shrinking<<<2, 96>>>(t, b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int w = 0; w < n; w += 32)
    for (int k = w; k < w + 32; ++k) {
      int s = 0;
      for (int step = 0; step < trips[k]; ++step)
        for (int j = w; j < w + 32; ++j) s += trips[j] > step;
      bad += r[k] != s;
    }

  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(t));
  return bad ? 1 : 0;
}
