// SPDX-License-Identifier: MIT
// One piece of shared memory for two purposes: a union, then a cast of a dynamic buffer.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

union Scratch {
  float tile[4][33];
  unsigned counts[64];
};

__global__ void two_phases(const float* in, float* sums, unsigned* hist) {
  __shared__ Scratch s;
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  float v = in[blockIdx.x * 128 + t];
  s.tile[warp][lane] = v;
  __syncthreads();
  if (t < 32) sums[blockIdx.x * 32 + t] = s.tile[0][t] + s.tile[1][t] + s.tile[2][t] + s.tile[3][t];
  __syncthreads();
  if (t < 64) s.counts[t] = 0;
  __syncthreads();
  atomicAdd(&s.counts[(int)v & 63], 1u);
  __syncthreads();
  if (t < 64) hist[blockIdx.x * 64 + t] = s.counts[t];
}

__global__ void cast_phases(const float* in, double* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  int t = threadIdx.x;
  float* f = reinterpret_cast<float*>(raw);
  f[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  double pair = t < 64 ? double(f[t]) + double(f[t + 64]) : 0.0;
  __syncthreads();
  double* d = reinterpret_cast<double*>(raw);
  if (t < 64) d[t] = pair;
  __syncthreads();
  if (t == 0) {
    double s = 0;
    for (int k = 0; k < 64; ++k) s += d[k];
    out[blockIdx.x] = s;
  }
}

int main() {
  const int blocks = 4, n = blocks * 128;
  std::vector<float> h(n), r(blocks * 32);
  std::vector<unsigned> c(blocks * 64);
  std::vector<double> q(blocks);
  for (int i = 0; i < n; ++i) h[i] = float((i * 11) % 64);
  float *a, *s;
  unsigned* u;
  double* o;
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&s, r.size() * sizeof(float)));
  CHECK(cudaMalloc(&u, c.size() * sizeof(unsigned)));
  CHECK(cudaMalloc(&o, q.size() * sizeof(double)));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  two_phases<<<blocks, 128>>>(a, s, u);
  CHECK(cudaGetLastError());
  cast_phases<<<blocks, 128, 128 * sizeof(float)>>>(a, o);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(r.data(), s, r.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(c.data(), u, c.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(q.data(), o, q.size() * sizeof(double), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int b = 0; b < blocks; ++b) {
    unsigned want[64] = {0};
    double tot = 0;
    for (int t = 0; t < 128; ++t) {
      want[(int)h[b * 128 + t] & 63]++;
      tot += h[b * 128 + t];
    }
    for (int k = 0; k < 64; ++k) bad += want[k] != c[b * 64 + k];
    for (int l = 0; l < 32; ++l)
      bad += r[b * 32 + l] != h[b * 128 + l] + h[b * 128 + 32 + l] + h[b * 128 + 64 + l] + h[b * 128 + 96 + l];
    bad += tot != q[b];
  }
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(s));
  CHECK(cudaFree(u));
  CHECK(cudaFree(o));
  return bad ? 1 : 0;
}
