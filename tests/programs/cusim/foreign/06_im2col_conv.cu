// SPDX-License-Identifier: MIT
// Convolution as im2col followed by a tiled GEMM with fused bias, and a direct kernel to compare.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define CUDA_POST_KERNEL_CHECK CHECK(cudaPeekAtLastError())
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

constexpr int NUM_THREADS = 128;
inline int GET_BLOCKS(int n) { return (n + NUM_THREADS - 1) / NUM_THREADS; }

struct Shape {
  int c, h, w, k, pad, stride, oc;
  __host__ __device__ int oh() const { return (h + 2 * pad - k) / stride + 1; }
  __host__ __device__ int ow() const { return (w + 2 * pad - k) / stride + 1; }
};

template <typename Dtype>
__global__ void im2col_kernel(const int n, const Dtype* data_im, const Shape s, Dtype* data_col) {
  CUDA_KERNEL_LOOP(index, n) {
    const int w_out = index % s.ow();
    const int h_out = (index / s.ow()) % s.oh();
    const int c_im = index / s.ow() / s.oh();
    const int h_off = h_out * s.stride - s.pad, w_off = w_out * s.stride - s.pad;
    Dtype* col = data_col + ((size_t)c_im * s.k * s.k * s.oh() + h_out) * s.ow() + w_out;
    const Dtype* im = data_im + (c_im * s.h + h_off) * s.w + w_off;
    for (int i = 0; i < s.k; ++i)
      for (int j = 0; j < s.k; ++j) {
        const int y = h_off + i, x = w_off + j;
        *col = (y >= 0 && x >= 0 && y < s.h && x < s.w) ? im[i * s.w + j] : Dtype(0);
        col += s.oh() * s.ow();
      }
  }
}

template <int TS>
__global__ void gemm_bias(const float* __restrict__ W, const float* __restrict__ col, const float* __restrict__ bias,
                          float* __restrict__ out, int M, int N, int K) {
  __shared__ float sw[TS][TS], sc[TS][TS + 1];
  const int r = blockIdx.y * TS + threadIdx.y, c = blockIdx.x * TS + threadIdx.x;
  float acc = r < M ? __ldg(bias + r) : 0.f;
  for (int k0 = 0; k0 < K; k0 += TS) {
    sw[threadIdx.y][threadIdx.x] = (r < M && k0 + threadIdx.x < K) ? W[r * K + k0 + threadIdx.x] : 0.f;
    sc[threadIdx.y][threadIdx.x] = (k0 + threadIdx.y < K && c < N) ? col[(k0 + threadIdx.y) * N + c] : 0.f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TS; ++k) acc = fmaf(sw[threadIdx.y][k], sc[k][threadIdx.x], acc);
    __syncthreads();
  }
  if (r < M && c < N) out[r * N + c] = acc;
}

__constant__ float c_bias[16];

__global__ void conv_direct(const float* __restrict__ im, const float* __restrict__ W, float* __restrict__ out, Shape s) {
  extern __shared__ float wsh[];
  const int o = blockIdx.z, per = s.c * s.k * s.k;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < per; i += blockDim.x * blockDim.y) wsh[i] = W[o * per + i];
  __syncthreads();
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= s.ow() || y >= s.oh()) return;
  float acc = c_bias[o];
  for (int c = 0; c < s.c; ++c)
    for (int i = 0; i < s.k; ++i) {
      const int yy = y * s.stride - s.pad + i;
      if (yy < 0 || yy >= s.h) continue;
      for (int j = 0; j < s.k; ++j) {
        const int xx = x * s.stride - s.pad + j;
        if (xx >= 0 && xx < s.w) acc += im[(c * s.h + yy) * s.w + xx] * wsh[(c * s.k + i) * s.k + j];
      }
    }
  out[(o * s.oh() + y) * s.ow() + x] = acc;
}

int main() {
  const Shape s{3, 27, 31, 3, 1, 2, 10};
  const int oh = s.oh(), ow = s.ow(), K = s.c * s.k * s.k, N = oh * ow, M = s.oc;
  std::vector<float> im(s.c * s.h * s.w), W(M * K), bias(M), ref(M * N), out(M * N);
  for (size_t i = 0; i < im.size(); ++i) im[i] = float(int(i * 7) % 15 - 7);
  for (size_t i = 0; i < W.size(); ++i) W[i] = float(int(i * 5) % 9 - 4);
  for (int i = 0; i < M; ++i) bias[i] = float(i);
  for (int o = 0; o < M; ++o)
    for (int y = 0; y < oh; ++y)
      for (int x = 0; x < ow; ++x) {
        float acc = bias[o];
        for (int c = 0; c < s.c; ++c)
          for (int i = 0; i < s.k; ++i)
            for (int j = 0; j < s.k; ++j) {
              int yy = y * s.stride - s.pad + i, xx = x * s.stride - s.pad + j;
              if (yy >= 0 && yy < s.h && xx >= 0 && xx < s.w)
                acc += im[(c * s.h + yy) * s.w + xx] * W[((o * s.c + c) * s.k + i) * s.k + j];
            }
        ref[(o * oh + y) * ow + x] = acc;
      }
  float *d_im, *d_w, *d_b, *d_col, *d_out;
  CHECK(cudaMalloc(&d_im, im.size() * sizeof(float)));
  CHECK(cudaMalloc(&d_w, W.size() * sizeof(float)));
  CHECK(cudaMalloc(&d_b, bias.size() * sizeof(float)));
  CHECK(cudaMalloc(&d_col, size_t(K) * N * sizeof(float)));
  CHECK(cudaMalloc(&d_out, out.size() * sizeof(float)));
  CHECK(cudaMemcpy(d_im, im.data(), im.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_w, W.data(), W.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, bias.data(), bias.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(c_bias, bias.data(), M * sizeof(float)));
  cudaEvent_t t0, t1;
  CHECK(cudaEventCreate(&t0));
  CHECK(cudaEventCreate(&t1));
  int bad = 0;

  CHECK(cudaEventRecord(t0));
  im2col_kernel<float><<<GET_BLOCKS(s.c * N), NUM_THREADS>>>(s.c * N, d_im, s, d_col);
  CUDA_POST_KERNEL_CHECK;
  gemm_bias<16><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(d_w, d_col, d_b, d_out, M, N, K);
  CUDA_POST_KERNEL_CHECK;
  CHECK(cudaEventRecord(t1));
  CHECK(cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < M * N; ++i) bad += std::fabs(out[i] - ref[i]) > 1e-3f;
  printf("im2col + gemm: %d wrong\n", bad);

  CHECK(cudaMemset(d_out, 0, out.size() * sizeof(float)));
  dim3 blk(16, 4), grd((ow + 15) / 16, (oh + 3) / 4, M);
  conv_direct<<<grd, blk, K * sizeof(float)>>>(d_im, d_w, d_out, s);
  CUDA_POST_KERNEL_CHECK;
  CHECK(cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  int bad2 = 0;
  for (int i = 0; i < M * N; ++i) bad2 += std::fabs(out[i] - ref[i]) > 1e-3f;
  printf("direct: %d wrong\n", bad2);
  float ms;
  CHECK(cudaEventElapsedTime(&ms, t0, t1));
  CHECK(cudaEventDestroy(t0));
  CHECK(cudaEventDestroy(t1));
  CHECK(cudaFree(d_im));
  CHECK(cudaFree(d_w));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(d_col));
  CHECK(cudaFree(d_out));
  return bad || bad2 ? 1 : 0;
}
