// SPDX-License-Identifier: MIT
// atomicCAS loops: add on double, maximum on float, and a lock taken lane by lane.
#include <cfloat>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

__device__ double add_double(double* p, double v) {
  unsigned long long* a = reinterpret_cast<unsigned long long*>(p);
  unsigned long long old = *reinterpret_cast<volatile unsigned long long*>(a), seen;
  do {
    seen = old;
    old = atomicCAS(a, seen, (unsigned long long)__double_as_longlong(v + __longlong_as_double((long long)seen)));
  } while (seen != old);
  return __longlong_as_double((long long)old);
}

__device__ void max_float(float* p, float v) {
  int* a = reinterpret_cast<int*>(p);
  int old = atomicAdd(a, 0);
  while (__int_as_float(old) < v) {
    int seen = old;
    old = atomicCAS(a, seen, __float_as_int(v));
    if (old == seen) break;
  }
}

__global__ void accumulate(const float* in, int n, double* sum, float* mx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    add_double(sum, double(in[i]));
    max_float(mx, in[i]);
  }
}

// Critical section per thread; correct with independent thread scheduling.
__global__ void locked(int* lock, volatile int* value) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *value = *value + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

int main() {
  const int n = 500;
  std::vector<float> h(n);
  double want = 0, zero = 0, s = 0;
  float wmax = -FLT_MAX, m = 0;
  for (int i = 0; i < n; ++i) {
    h[i] = float((i * 73) % 509) - 250.f;
    want += h[i];
    wmax = h[i] > wmax ? h[i] : wmax;
  }
  float *a, *dm, lowest = -FLT_MAX;
  double* ds;
  int *lk, lv[2];
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&dm, sizeof(float)));
  CHECK(cudaMalloc(&ds, sizeof(double)));
  CHECK(cudaMalloc(&lk, sizeof lv));
  CHECK(cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dm, &lowest, sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(ds, &zero, sizeof(double), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(lk, 0, sizeof lv));
  accumulate<<<(n + 63) / 64, 64>>>(a, n, ds, dm);
  CHECK(cudaGetLastError());
  locked<<<3, 64>>>(lk, lk + 1);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&s, ds, sizeof s, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&m, dm, sizeof m, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(lv, lk, sizeof lv, cudaMemcpyDeviceToHost));
  bool ok = s == want && m == wmax && lv[0] == 0 && lv[1] == 192;
  std::printf("%g %g %d %s\n", s, m, lv[1], ok ? "ok" : "WRONG");
  CHECK(cudaFree(a));
  CHECK(cudaFree(dm));
  CHECK(cudaFree(ds));
  CHECK(cudaFree(lk));
  return ok ? 0 : 1;
}
