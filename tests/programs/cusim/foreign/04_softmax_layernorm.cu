// SPDX-License-Identifier: MIT
// Row softmax (warp per row, block per row, online) and layer norm with block reduction.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define cudaCheck(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct SumOp { __device__ float operator()(float a, float b) const { return a + b; } };
struct MaxOp { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

template <typename Op, int WIDTH = 32>
__device__ __forceinline__ float warpReduce(float v) {
#pragma unroll
  for (int mask = WIDTH / 2; mask > 0; mask >>= 1) v = Op()(v, __shfl_xor_sync(0xffffffff, v, mask, WIDTH));
  return v;
}

template <typename Op>
__device__ float blockReduce(float v, float neutral) {
  static __shared__ float shared[32];
  __shared__ float result;
  const int lane = threadIdx.x % 32, wid = threadIdx.x / 32;
  v = warpReduce<Op>(v);
  if (lane == 0) shared[wid] = v;
  __syncthreads();
  if (wid == 0) {
    v = lane < (int)blockDim.x / 32 ? shared[lane] : neutral;
    v = warpReduce<Op>(v);
    if (lane == 0) result = v;
  }
  __syncthreads();
  return result;
}

__global__ void softmax_warp(const float* __restrict__ inp, float* __restrict__ out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;  // a whole warp
  const float* x = inp + row * cols;
  float* y = out + row * cols;
  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, x[c]);
  m = warpReduce<MaxOp>(m);
  float s = 0.f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    float e = expf(x[c] - m);
    y[c] = e;
    s += e;
  }
  s = warpReduce<SumOp>(s);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] /= s;
}

__global__ void softmax_block(const float* __restrict__ inp, float* __restrict__ out, int cols) {
  extern __shared__ float row[];
  const float* x = inp + blockIdx.x * cols;
  float m = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    row[c] = x[c];
    m = fmaxf(m, row[c]);
  }
  m = blockReduce<MaxOp>(m, -INFINITY);
  float s = 0.f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) s += row[c] = __expf(row[c] - m);
  s = blockReduce<SumOp>(s, 0.f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[blockIdx.x * cols + c] = row[c] * (1.f / s);
}

struct __align__(8) MD { float m, d; };

__device__ __forceinline__ MD combine(MD a, MD b) {
  bool bigger = a.m > b.m;
  MD hi = bigger ? a : b, lo = bigger ? b : a;
  hi.d += lo.d * expf(lo.m - hi.m);
  return hi;
}

__global__ void softmax_online(const float* inp, float* out, int cols) {
  const float* x = inp + blockIdx.x * cols;
  __shared__ MD part[4];
  MD md{-FLT_MAX, 0.f};
  for (int c = threadIdx.x; c < cols; c += blockDim.x) md = combine(md, MD{x[c], 1.f});
  for (int o = 16; o > 0; o >>= 1) {
    MD other{__shfl_xor_sync(~0u, md.m, o), __shfl_xor_sync(~0u, md.d, o)};
    md = combine(md, other);
  }
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = md;
  __syncthreads();
  md = part[0];
  for (int w = 1; w < 4; ++w) md = combine(md, part[w]);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[blockIdx.x * cols + c] = expf(x[c] - md.m) / md.d;
}

__global__ void layernorm(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                          const float* bias, int C) {
  const float* x = inp + blockIdx.x * C;
  float s = 0.f;
  for (int c = threadIdx.x; c < C; c += blockDim.x) s += x[c];
  const float mu = blockReduce<SumOp>(s, 0.f) / C;
  float v = 0.f;
  for (int c = threadIdx.x; c < C; c += blockDim.x) {
    float d = x[c] - mu;
    v += d * d;
  }
  const float rs = rsqrtf(blockReduce<SumOp>(v, 0.f) / C + 1e-5f);
  if (threadIdx.x == 0) {
    __stcs(mean + blockIdx.x, mu);
    __stcs(rstd + blockIdx.x, rs);
  }
  for (int c = threadIdx.x; c < C; c += blockDim.x)
    __stcs(out + blockIdx.x * C + c, rs * (__ldcs(x + c) - mu) * weight[c] + bias[c]);
}

static float max_diff(const std::vector<float>& a, const std::vector<float>& b) {
  float w = 0.f;
  for (size_t i = 0; i < a.size(); ++i) {
    float d = std::fabs(a[i] - b[i]);
    if (!(d <= w)) w = d;
  }
  return w;
}

int main() {
  const int rows = 18, cols = 200;
  std::vector<float> x(rows * cols), w(cols), b(cols), sm(rows * cols), ln(rows * cols), got(rows * cols);
  for (int i = 0; i < rows * cols; ++i) x[i] = std::sin(0.37f * i) * 4.f;
  for (int c = 0; c < cols; ++c) {
    w[c] = 1.f + 0.01f * c;
    b[c] = 0.1f * (c % 7);
  }
  for (int r = 0; r < rows; ++r) {
    double m = -1e30, s = 0, mu = 0, var = 0;
    for (int c = 0; c < cols; ++c) {
      m = std::fmax(m, x[r * cols + c]);
      mu += x[r * cols + c];
    }
    mu /= cols;
    for (int c = 0; c < cols; ++c) {
      s += std::exp(x[r * cols + c] - m);
      var += (x[r * cols + c] - mu) * (x[r * cols + c] - mu);
    }
    for (int c = 0; c < cols; ++c) {
      sm[r * cols + c] = float(std::exp(x[r * cols + c] - m) / s);
      ln[r * cols + c] = float((x[r * cols + c] - mu) / std::sqrt(var / cols + 1e-5) * w[c] + b[c]);
    }
  }
  float *dx, *dy, *dw, *db, *dm, *dr;
  cudaStream_t stream;
  cudaEvent_t e0, e1;
  cudaCheck(cudaStreamCreate(&stream));
  cudaCheck(cudaEventCreate(&e0));
  cudaCheck(cudaEventCreate(&e1));
  cudaCheck(cudaMalloc(&dx, x.size() * sizeof(float)));
  cudaCheck(cudaMalloc(&dy, x.size() * sizeof(float)));
  cudaCheck(cudaMalloc(&dw, cols * sizeof(float)));
  cudaCheck(cudaMalloc(&db, cols * sizeof(float)));
  cudaCheck(cudaMalloc(&dm, rows * sizeof(float)));
  cudaCheck(cudaMalloc(&dr, rows * sizeof(float)));
  cudaCheck(cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dw, w.data(), cols * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(db, b.data(), cols * sizeof(float), cudaMemcpyHostToDevice));
  int bad = 0;
  for (int k = 1; k <= 4; ++k) {
    cudaCheck(cudaEventRecord(e0, stream));
    switch (k) {
      case 1: softmax_warp<<<ceil_div(rows, 4), dim3(32, 4), 0, stream>>>(dx, dy, rows, cols); break;
      case 2: softmax_block<<<rows, 96, cols * sizeof(float), stream>>>(dx, dy, cols); break;
      case 3: softmax_online<<<rows, 128, 0, stream>>>(dx, dy, cols); break;
      case 4: layernorm<<<rows, 64, 0, stream>>>(dy, dm, dr, dx, dw, db, cols); break;
    }
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaEventRecord(e1, stream));
    cudaCheck(cudaStreamSynchronize(stream));
    float ms = 0.f;
    cudaCheck(cudaEventElapsedTime(&ms, e0, e1));
    cudaCheck(cudaMemcpy(got.data(), dy, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    float d = max_diff(got, k == 4 ? ln : sm);
    printf("kernel %d: max diff %.2e\n", k, d);
    if (!(d < 1e-4f)) bad = 1;
  }
  cudaCheck(cudaFree(dx));
  cudaCheck(cudaFree(dy));
  cudaCheck(cudaFree(dw));
  cudaCheck(cudaFree(db));
  cudaCheck(cudaFree(dm));
  cudaCheck(cudaFree(dr));
  cudaCheck(cudaEventDestroy(e0));
  cudaCheck(cudaEventDestroy(e1));
  cudaCheck(cudaStreamDestroy(stream));
  return bad;
}
