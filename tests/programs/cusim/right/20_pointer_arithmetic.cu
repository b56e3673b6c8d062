// SPDX-License-Identifier: MIT
// Pointers that step past the end but are never followed there, one large pool cut into
// sub-arrays, pointers stored in device memory, and a struct of arrays passed by value.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

struct Soa {
  float* x;
  float* y;
  double* w;
  int n;
};

__global__ void fill(Soa s) {
  const float* end = s.x + s.n;
  for (float* p = s.x + blockIdx.x * blockDim.x + threadIdx.x; p < end; p += gridDim.x * blockDim.x) {
    int i = int(p - s.x);
    *p = float(i);
    s.y[i] = float(2 * i);
    s.w[i] = 0.5 * i;
  }
}

__global__ void gather(const float* const* cols, int ncols, int n, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  const float* const* last = cols + ncols;
  for (const float* const* c = cols; c != last; ++c) acc += (*c)[i];
  out[i] = acc;
}

int main() {
  const int n = 700;
  char* pool;
  const size_t fbytes = (n * sizeof(float) + 255) / 256 * 256, dbytes = (n * sizeof(double) + 255) / 256 * 256;
  CHECK(cudaMalloc(&pool, 3 * fbytes + dbytes));
  Soa s{reinterpret_cast<float*>(pool), reinterpret_cast<float*>(pool + fbytes),
        reinterpret_cast<double*>(pool + 2 * fbytes), n};
  float* out = reinterpret_cast<float*>(pool + 2 * fbytes + dbytes);
  fill<<<3, 96>>>(s);
  CHECK(cudaGetLastError());
  const float* cols[3] = {s.x, s.y, s.x};
  const float** dcols;
  CHECK(cudaMalloc(&dcols, sizeof cols));
  CHECK(cudaMemcpy(dcols, cols, sizeof cols, cudaMemcpyHostToDevice));
  gather<<<(n + 127) / 128, 128>>>(dcols, 3, n, out);
  CHECK(cudaGetLastError());
  std::vector<float> r(n);
  std::vector<double> w(n);
  CHECK(cudaMemcpy(r.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(w.data(), s.w, n * sizeof(double), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; ++i) bad += (r[i] != float(4 * i)) + (w[i] != 0.5 * i);
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(dcols));
  CHECK(cudaFree(pool));
  return bad ? 1 : 0;
}
