// SPDX-License-Identifier: MIT
// Inference style kernels on half: RMS norm with half2 loads, rotary embedding, int8 matrix-vector
// product with __dp4a and warp reduction.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CUDA_CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define WARP_SIZE 32

template <typename T>
static __device__ __forceinline__ T warp_reduce_sum(T x) {
#pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) x += __shfl_xor_sync(0xffffffff, x, offset, WARP_SIZE);
  return x;
}

template <int block_size>
static __global__ void rms_norm_f16(const half2* __restrict__ x, const half* __restrict__ w, half2* __restrict__ y,
                                    const int ncols2, const float eps) {
  const int row = blockIdx.x, tid = threadIdx.x;
  float tmp = 0.0f;
  for (int col = tid; col < ncols2; col += block_size) {
    const float2 v = __half22float2(x[row * ncols2 + col]);
    tmp += v.x * v.x + v.y * v.y;
  }
  tmp = warp_reduce_sum(tmp);
  if (block_size > WARP_SIZE) {
    __shared__ float s_sum[WARP_SIZE];
    const int warp_id = tid / WARP_SIZE, lane_id = tid % WARP_SIZE;
    if (lane_id == 0) s_sum[warp_id] = tmp;
    __syncthreads();
    tmp = lane_id < block_size / WARP_SIZE ? s_sum[lane_id] : 0.f;
    tmp = warp_reduce_sum(tmp);
  }
  const half2 scale = __float2half2_rn(rsqrtf(tmp / (2 * ncols2) + eps));
  for (int col = tid; col < ncols2; col += block_size) {
    const half2 ww = __halves2half2(w[2 * col], w[2 * col + 1]);
    y[row * ncols2 + col] = __hmul2(__hmul2(x[row * ncols2 + col], scale), ww);
  }
}

static __global__ void rope_f16(half* x, const int ncols, const int p0, const float theta_scale) {
  const int i = 2 * (blockDim.y * blockIdx.y + threadIdx.y);
  if (i >= ncols) return;
  const int row = blockDim.x * blockIdx.x + threadIdx.x;
  half* p = x + row * ncols + i;
  const float theta = (p0 + row) * powf(theta_scale, i / 2.0f);
  float s, c;
  sincosf(theta, &s, &c);
  const float x0 = __half2float(p[0]), x1 = __half2float(p[1]);
  p[0] = __float2half(x0 * c - x1 * s);
  p[1] = __float2half(x0 * s + x1 * c);
}

struct block_q8 { half d; int8_t qs[32]; };
static_assert(sizeof(block_q8) == 34, "two bytes of scale and 32 quants");

static __device__ __forceinline__ int get_int_b2(const int8_t* q, int i) {
  const uint16_t* q16 = reinterpret_cast<const uint16_t*>(q + 4 * i);  // only two-byte aligned
  return int(q16[0] | (uint32_t(q16[1]) << 16));
}

static __global__ void mul_mat_vec_q8(const block_q8* __restrict__ m, const block_q8* __restrict__ v,
                                      float* __restrict__ dst, int nblocks, int nrows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= nrows) return;  // a whole warp
  float sum = 0.f;
  for (int b = threadIdx.x / 8; b < nblocks; b += WARP_SIZE / 8) {
    const block_q8 &bm = m[row * nblocks + b], &bv = v[b];
    const int i = threadIdx.x % 8;
    const int dot = __dp4a(get_int_b2(bm.qs, i), get_int_b2(bv.qs, i), 0);
    sum += __half2float(bm.d) * __half2float(bv.d) * dot;
  }
  sum = warp_reduce_sum(sum);
  if (threadIdx.x == 0) dst[row] = sum;
}

int main() {
  const int rows = 6, cols = 192;
  std::vector<half> x(rows * cols), w(cols), y(rows * cols);
  for (int i = 0; i < rows * cols; ++i) x[i] = __float2half(std::sin(0.21f * i));
  for (int c = 0; c < cols; ++c) w[c] = __float2half(0.5f + 0.005f * c);
  half *dx, *dw, *dy;
  cudaStream_t stream;
  cudaEvent_t t0, t1;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreate(&t0));
  CUDA_CHECK(cudaEventCreate(&t1));
  CUDA_CHECK(cudaMalloc(&dx, x.size() * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&dw, w.size() * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&dy, y.size() * sizeof(half)));
  CUDA_CHECK(cudaMemcpyAsync(dx, x.data(), x.size() * sizeof(half), cudaMemcpyHostToDevice, stream));
  CUDA_CHECK(cudaMemcpyAsync(dw, w.data(), w.size() * sizeof(half), cudaMemcpyHostToDevice, stream));
  CUDA_CHECK(cudaEventRecord(t0, stream));
  rms_norm_f16<64><<<rows, 64, 0, stream>>>(reinterpret_cast<const half2*>(dx), dw, reinterpret_cast<half2*>(dy),
                                            cols / 2, 1e-5f);
  CUDA_CHECK(cudaGetLastError());
  const dim3 rope_block(1, 64, 1), rope_grid(rows, (cols / 2 + 63) / 64, 1);
  rope_f16<<<rope_grid, rope_block, 0, stream>>>(dy, cols, 3, 0.9f);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaEventRecord(t1, stream));
  CUDA_CHECK(cudaMemcpyAsync(y.data(), dy, y.size() * sizeof(half), cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  int bad = 0;
  for (int r = 0; r < rows; ++r) {
    double ss = 0;
    for (int c = 0; c < cols; ++c) ss += double(__half2float(x[r * cols + c])) * __half2float(x[r * cols + c]);
    double sc = 1.0 / std::sqrt(ss / cols + 1e-5);
    for (int c = 0; c < cols; c += 2) {
      double a = __half2float(x[r * cols + c]) * sc * __half2float(w[c]);
      double b = __half2float(x[r * cols + c + 1]) * sc * __half2float(w[c + 1]);
      double th = (3 + r) * std::pow(0.9, c / 2.0);
      bad += std::fabs(__half2float(y[r * cols + c]) - (a * std::cos(th) - b * std::sin(th))) > 2e-2;
      bad += std::fabs(__half2float(y[r * cols + c + 1]) - (a * std::sin(th) + b * std::cos(th))) > 2e-2;
    }
  }
  printf("norm + rope: %d wrong\n", bad);

  const int nrows = 18, nb = 6;
  std::vector<block_q8> m(nrows * nb), v(nb);
  for (int i = 0; i < nrows * nb; ++i) {
    m[i].d = __float2half(0.25f * (1 + i % 3));
    for (int k = 0; k < 32; ++k) m[i].qs[k] = int8_t((i * 31 + k * 17) % 255 - 127);
  }
  for (int i = 0; i < nb; ++i) {
    v[i].d = __float2half(0.125f);
    for (int k = 0; k < 32; ++k) v[i].qs[k] = int8_t((i * 13 + k * 29) % 251 - 125);
  }
  block_q8 *dm, *dv;
  float *dd, dst[nrows];
  CUDA_CHECK(cudaMalloc(&dm, m.size() * sizeof(block_q8)));
  CUDA_CHECK(cudaMalloc(&dv, v.size() * sizeof(block_q8)));
  CUDA_CHECK(cudaMalloc(&dd, sizeof dst));
  CUDA_CHECK(cudaMemcpyAsync(dm, m.data(), m.size() * sizeof(block_q8), cudaMemcpyHostToDevice, stream));
  CUDA_CHECK(cudaMemcpyAsync(dv, v.data(), v.size() * sizeof(block_q8), cudaMemcpyHostToDevice, stream));
  mul_mat_vec_q8<<<(nrows + 3) / 4, dim3(WARP_SIZE, 4, 1), 0, stream>>>(dm, dv, dd, nb, nrows);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpyAsync(dst, dd, sizeof dst, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  int bad2 = 0;
  for (int r = 0; r < nrows; ++r) {
    double s = 0;
    for (int b = 0; b < nb; ++b) {
      int dot = 0;
      for (int k = 0; k < 32; ++k) dot += int(m[r * nb + b].qs[k]) * int(v[b].qs[k]);
      s += double(__half2float(m[r * nb + b].d)) * __half2float(v[b].d) * dot;
    }
    bad2 += std::fabs(s - dst[r]) > 1e-2 + 1e-4 * std::fabs(s);
  }
  printf("q8 matvec: %d wrong\n", bad2);
  float ms;
  CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
  CUDA_CHECK(cudaEventDestroy(t0));
  CUDA_CHECK(cudaEventDestroy(t1));
  CUDA_CHECK(cudaStreamDestroy(stream));
  CUDA_CHECK(cudaFree(dx));
  CUDA_CHECK(cudaFree(dw));
  CUDA_CHECK(cudaFree(dy));
  CUDA_CHECK(cudaFree(dm));
  CUDA_CHECK(cudaFree(dv));
  CUDA_CHECK(cudaFree(dd));
  return bad || bad2 ? 1 : 0;
}
