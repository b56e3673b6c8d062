// SPDX-License-Identifier: MIT
// Fused bias + activation + residual with nested template arguments, vector loads and a launch macro.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CALL(...)                                                             \
  do {                                                                             \
    cudaError_t err__ = (__VA_ARGS__);                                             \
    if (err__ != cudaSuccess) {                                                    \
      fprintf(stderr, "%s -> %s\n", #__VA_ARGS__, cudaGetErrorString(err__));      \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)

#define LAUNCH(kernel, grid, block, smem, stream, ...)        \
  do {                                                        \
    kernel<<<(grid), (block), (smem), (stream)>>>(__VA_ARGS__); \
    CUDA_CALL(cudaGetLastError());                            \
  } while (0)

template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };

struct GeluTanh {
  __host__ __device__ static float f(float x) {
    const float k = 0.7978845608028654f;
    return 0.5f * x * (1.0f + tanhf(k * (x + 0.044715f * x * x * x)));
  }
};
struct GeluErf {
  __host__ __device__ static float f(float x) { return x * 0.5f * (1.0f + erff(x * 0.70710678f)); }
};
struct Relu {
  __host__ __device__ static float f(float x) { return x > 0.f ? x : 0.f; }
};
template <int NUM, int DEN> struct Ratio { static constexpr float value = float(NUM) / float(DEN); };
template <typename Act, typename Scale = Ratio<1, 1>> struct Scaled {
  __host__ __device__ static float f(float x) { return Scale::value * Act::f(x); }
};
template <typename Act> struct Policy { using act = Act; static constexpr int vec = 4; };

template <typename P>
__global__ void bias_act_residual(const float* __restrict__ x, const float* __restrict__ bias,
                                  const float* __restrict__ res, float* __restrict__ y, int rows, int cols) {
  using V = Pack<float, P::vec>;
  const int per_row = cols / P::vec;
  const int total = rows * per_row;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    V a = reinterpret_cast<const V*>(x)[i];
    V b = reinterpret_cast<const V*>(bias)[i % per_row];
    V r = *(reinterpret_cast<const V*>(res) + i);
#pragma unroll
    for (int k = 0; k < P::vec; ++k) a.v[k] = P::act::f(a.v[k] + b.v[k]) + r.v[k];
    reinterpret_cast<V*>(y)[i] = a;
  }
}

template <typename Act>
static int check(const std::vector<float>& x, const std::vector<float>& b, const std::vector<float>& r,
                 const std::vector<float>& y, const char* name) {
  float worst = 0.f;
  for (size_t i = 0; i < x.size(); ++i) {
    float d = fabsf(Act::f(x[i] + b[i % b.size()]) + r[i] - y[i]);
    if (!(d <= worst)) worst = d;
  }
  printf("%-10s max diff %.2e\n", name, worst);
  return !(worst < 1e-5f);
}

int main() {
  const int rows = 37, cols = 128, n = rows * cols;
  std::vector<float> x(n), b(cols), r(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = 3.f * sinf(0.11f * i);
    r[i] = 0.01f * (i % 50);
  }
  for (int c = 0; c < cols; ++c) b[c] = 0.02f * c - 1.f;
  float *dx, *db, *dr, *dy;
  cudaStream_t s;
  cudaEvent_t start, stop;
  CUDA_CALL(cudaStreamCreate(&s));
  CUDA_CALL(cudaEventCreate(&start));
  CUDA_CALL(cudaEventCreate(&stop));
  CUDA_CALL(cudaMalloc(&dx, n * sizeof(float)));
  CUDA_CALL(cudaMalloc(&db, cols * sizeof(float)));
  CUDA_CALL(cudaMalloc(&dr, n * sizeof(float)));
  CUDA_CALL(cudaMalloc(&dy, n * sizeof(float)));
  CUDA_CALL(cudaMemcpyAsync(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice, s));
  CUDA_CALL(cudaMemcpyAsync(db, b.data(), cols * sizeof(float), cudaMemcpyHostToDevice, s));
  CUDA_CALL(cudaMemcpyAsync(dr, r.data(), n * sizeof(float), cudaMemcpyHostToDevice, s));
  dim3 grid(5), block(96);
  int bad = 0;
  auto fetch = [&] {
    CUDA_CALL(cudaMemcpyAsync(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost, s));
    CUDA_CALL(cudaStreamSynchronize(s));
  };
  CUDA_CALL(cudaEventRecord(start, s));
  bias_act_residual<Policy<Scaled<GeluTanh>>><<<grid, block, 0, s>>>(dx, db, dr, dy, rows, cols);
  CUDA_CALL(cudaGetLastError());
  CUDA_CALL(cudaEventRecord(stop, s));
  fetch();
  bad += check<Scaled<GeluTanh>>(x, b, r, y, "gelu tanh");
  LAUNCH(bias_act_residual<Policy<GeluErf>>, grid, block, 0, s, dx, db, dr, dy, rows, cols);
  fetch();
  bad += check<GeluErf>(x, b, r, y, "gelu erf");
  LAUNCH((bias_act_residual<Policy<Scaled<Relu, Ratio<3, 2>>>>), dim3(4, 1, 1), 64, 0, s, dx, db, dr, dy, rows, cols);
  fetch();
  bad += check<Scaled<Relu, Ratio<3, 2>>>(x, b, r, y, "relu 3/2");
  float ms;
  CUDA_CALL(cudaEventElapsedTime(&ms, start, stop));
  CUDA_CALL(cudaEventDestroy(start));
  CUDA_CALL(cudaEventDestroy(stop));
  CUDA_CALL(cudaStreamDestroy(s));
  CUDA_CALL(cudaFree(dx));
  CUDA_CALL(cudaFree(db));
  CUDA_CALL(cudaFree(dr));
  CUDA_CALL(cudaFree(dy));
  return bad ? 1 : 0;
}
