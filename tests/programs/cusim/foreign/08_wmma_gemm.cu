// SPDX-License-Identifier: MIT
// Half-precision GEMM on 16x16x16 matrix fragments, straight from global memory and through shared memory.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;
#define cudaErrCheck(stat) { cudaErrCheck_((stat), __FILE__, __LINE__); }
void cudaErrCheck_(cudaError_t stat, const char* file, int line) {
  if (stat != cudaSuccess) {
    fprintf(stderr, "CUDA Error: %s %s %d\n", cudaGetErrorString(stat), file, line);
    exit(1);
  }
}

const int WMMA_M = 16, WMMA_N = 16, WMMA_K = 16;

__global__ void to_half(__half* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < n) reinterpret_cast<__half2*>(out)[i] = __float22half2_rn(reinterpret_cast<const float2*>(in)[i]);
}

// One warp per output fragment.
__global__ void wmma_simple(const half* a, const half* b, float* c, int M, int N, int K, float alpha, float beta) {
  int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  int warpN = blockIdx.y * blockDim.y + threadIdx.y;
  wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> a_frag;
  wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> b_frag;
  wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> acc_frag, c_frag;
  int row = warpM * WMMA_M, col = warpN * WMMA_N;
  if (row >= M || col >= N) return;
  wmma::fill_fragment(acc_frag, 0.0f);
  for (int k = 0; k < K; k += WMMA_K) {
    wmma::load_matrix_sync(a_frag, a + row * K + k, K);
    wmma::load_matrix_sync(b_frag, b + k * N + col, N);
    wmma::mma_sync(acc_frag, a_frag, b_frag, acc_frag);
  }
  wmma::load_matrix_sync(c_frag, c + row * N + col, N, wmma::mem_row_major);
  for (int i = 0; i < c_frag.num_elements; i++) c_frag.x[i] = alpha * acc_frag.x[i] + beta * c_frag.x[i];
  wmma::store_matrix_sync(c + row * N + col, c_frag, N, wmma::mem_row_major);
}

// 64 x 64 output per block of four warps, each warp 32 x 32.
template <int BM, int BN, int BK>
__global__ void wmma_shared(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C, int M, int N,
                            int K) {
  __shared__ __align__(32) half sA[BM][BK + 16];
  __shared__ __align__(32) half sB[BK][BN + 16];
  const int warp = threadIdx.x / 32, wr = warp / 2, wc = warp % 2;
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0.f);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int v = threadIdx.x; v < BM * BK / 8; v += blockDim.x) {
      int r = v / (BK / 8), c = v % (BK / 8) * 8;
      *reinterpret_cast<int4*>(&sA[r][c]) = *reinterpret_cast<const int4*>(&A[(m0 + r) * K + k0 + c]);
    }
    for (int v = threadIdx.x; v < BK * BN / 8; v += blockDim.x) {
      int r = v / (BN / 8), c = v % (BN / 8) * 8;
      *reinterpret_cast<int4*>(&sB[r][c]) = *reinterpret_cast<const int4*>(&B[(k0 + r) * N + n0 + c]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(fa[i], &sA[wr * 32 + i * 16][k], BK + 16);
        wmma::load_matrix_sync(fb[i], &sB[k][wc * 32 + i * 16], BN + 16);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(C + (m0 + wr * 32 + i * 16) * N + n0 + wc * 32 + j * 16, acc[i][j], N,
                              wmma::mem_row_major);
}

int main() {
  const int M = 128, N = 128, K = 64;
  std::vector<float> A(M * K), B(K * N), C(M * N), R(M * N), out(M * N);
  for (int i = 0; i < M * K; ++i) A[i] = float(i % 9) - 4.f;
  for (int i = 0; i < K * N; ++i) B[i] = float(i % 7) - 3.f;
  for (int i = 0; i < M * N; ++i) C[i] = float(i % 5);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float s = 0.f;
      for (int k = 0; k < K; ++k) s += A[i * K + k] * B[k * N + j];
      R[i * N + j] = s;
    }
  float *fA, *fB, *fC;
  half *hA, *hB;
  cudaErrCheck(cudaMalloc((void**)&fA, M * K * sizeof(float)));
  cudaErrCheck(cudaMalloc((void**)&fB, K * N * sizeof(float)));
  cudaErrCheck(cudaMalloc((void**)&fC, M * N * sizeof(float)));
  cudaErrCheck(cudaMalloc((void**)&hA, M * K * sizeof(half)));
  cudaErrCheck(cudaMalloc((void**)&hB, K * N * sizeof(half)));
  cudaErrCheck(cudaMemcpy(fA, A.data(), M * K * sizeof(float), cudaMemcpyHostToDevice));
  cudaErrCheck(cudaMemcpy(fB, B.data(), K * N * sizeof(float), cudaMemcpyHostToDevice));
  cudaErrCheck(cudaMemcpy(fC, C.data(), M * N * sizeof(float), cudaMemcpyHostToDevice));
  to_half<<<(M * K / 2 + 255) / 256, 256>>>(hA, fA, M * K);
  cudaErrCheck(cudaGetLastError());
  to_half<<<(K * N / 2 + 255) / 256, 256>>>(hB, fB, K * N);
  cudaErrCheck(cudaGetLastError());
  cudaEvent_t start, stop;
  cudaErrCheck(cudaEventCreate(&start));
  cudaErrCheck(cudaEventCreate(&stop));
  int bad = 0;
  dim3 gridDim, blockDim;
  blockDim.x = 64;
  blockDim.y = 2;
  gridDim.x = (M + (WMMA_M * blockDim.x / 32 - 1)) / (WMMA_M * blockDim.x / 32);
  gridDim.y = (N + WMMA_N * blockDim.y - 1) / (WMMA_N * blockDim.y);
  cudaErrCheck(cudaEventRecord(start));
  wmma_simple<<<gridDim, blockDim>>>(hA, hB, fC, M, N, K, 0.5f, 2.0f);
  cudaErrCheck(cudaGetLastError());
  cudaErrCheck(cudaEventRecord(stop));
  cudaErrCheck(cudaMemcpy(out.data(), fC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < M * N; ++i) bad += std::fabs(out[i] - (0.5f * R[i] + 2.0f * C[i])) > 1e-2f;
  printf("simple: %d wrong\n", bad);
  wmma_shared<64, 64, 32><<<dim3(N / 64, M / 64), 128>>>(hA, hB, fC, M, N, K);
  cudaErrCheck(cudaGetLastError());
  cudaErrCheck(cudaDeviceSynchronize());
  cudaErrCheck(cudaMemcpy(out.data(), fC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
  int bad2 = 0;
  for (int i = 0; i < M * N; ++i) bad2 += std::fabs(out[i] - R[i]) > 1e-2f;
  printf("shared: %d wrong\n", bad2);
  float ms;
  cudaErrCheck(cudaEventElapsedTime(&ms, start, stop));
  cudaErrCheck(cudaEventDestroy(start));
  cudaErrCheck(cudaEventDestroy(stop));
  cudaErrCheck(cudaFree(fA));
  cudaErrCheck(cudaFree(fB));
  cudaErrCheck(cudaFree(fC));
  cudaErrCheck(cudaFree(hA));
  cudaErrCheck(cudaFree(hB));
  return bad || bad2 ? 1 : 0;
}
