// SPDX-License-Identifier: MIT
// Templates with function objects, nested template arguments and grid-stride loops.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

template <typename T> struct Plus {
  static constexpr T zero() { return T(0); }
  __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
template <typename T> struct Max {
  static constexpr T zero() { return std::numeric_limits<T>::lowest(); }
  __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
template <typename Op> struct Swapped {
  Op op;
  template <typename T> __host__ __device__ T operator()(T a, T b) const { return op(b, a); }
};
struct Affine {
  int k, c;
  __host__ __device__ int operator()(int x) const { return k * x + c; }
};

template <typename T, typename Map, typename Op, int BS>
__global__ void map_reduce(const T* in, int n, T init, Map map, Op op, T* out) {
  __shared__ T s[BS];
  T acc = init;
  for (int i = blockIdx.x * BS + threadIdx.x; i < n; i += BS * gridDim.x) acc = op(acc, map(in[i]));
  s[threadIdx.x] = acc;
  __syncthreads();
#pragma unroll
  for (int o = BS / 2; o > 0; o /= 2) {
    if (threadIdx.x < o) s[threadIdx.x] = op(s[threadIdx.x], s[threadIdx.x + o]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

template <typename Op>
static int run(const std::vector<int>& h, const int* d, int* dout, int init, Op op) {
  const int blocks = 5;
  int part[blocks];
  map_reduce<int, Affine, Swapped<Op>, 128><<<blocks, 128>>>(d, (int)h.size(), init, Affine{3, -7}, Swapped<Op>{op}, dout);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(part, dout, sizeof part, cudaMemcpyDeviceToHost));
  int got = init, want = init;
  for (int v : part) got = op(got, v);
  for (int v : h) want = op(want, Affine{3, -7}(v));
  return got != want;
}

int main() {
  std::vector<int> h(3333);
  for (size_t i = 0; i < h.size(); ++i) h[i] = int((i * 131) % 1001) - 500;
  int *d, *o;
  CHECK(cudaMalloc(&d, h.size() * sizeof(int)));
  CHECK(cudaMalloc(&o, 5 * sizeof(int)));
  CHECK(cudaMemcpy(d, h.data(), h.size() * sizeof(int), cudaMemcpyHostToDevice));
  int bad = run(h, d, o, Plus<int>::zero(), Plus<int>{}) + run(h, d, o, Max<int>::zero(), Max<int>{});
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(d));
  CHECK(cudaFree(o));
  return bad ? 1 : 0;
}
