// SPDX-License-Identifier: MIT
// SGEMM ladder: naive, coalesced, shared tile, 1-D and 2-D register tiling, vectorised loads.
// usage: prog [kernel number], default: all of them
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(err) (cudaCheckImpl((err), __FILE__, __LINE__))

static void cudaCheckImpl(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess) {
    printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
}

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

template <const uint BLOCKSIZE>
__global__ void sgemm_coalesced(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                                float* C) {
  const int row = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
  const int col = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
  if (row < M && col < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[row * K + i] * B[i * N + col];
    C[row * N + col] = alpha * tmp + beta * C[row * N + col];
  }
}

template <const int BLOCKSIZE>
__global__ void sgemm_shared(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint cRow = blockIdx.x, cCol = blockIdx.y;
  __shared__ float As[BLOCKSIZE * BLOCKSIZE];
  __shared__ float Bs[BLOCKSIZE * BLOCKSIZE];
  const uint threadCol = threadIdx.x % BLOCKSIZE, threadRow = threadIdx.x / BLOCKSIZE;
  A += cRow * BLOCKSIZE * K;
  B += cCol * BLOCKSIZE;
  C += cRow * BLOCKSIZE * N + cCol * BLOCKSIZE;
  float tmp = 0.0;
  for (int bkIdx = 0; bkIdx < K; bkIdx += BLOCKSIZE) {
    As[threadRow * BLOCKSIZE + threadCol] = A[threadRow * K + threadCol];
    Bs[threadRow * BLOCKSIZE + threadCol] = B[threadRow * N + threadCol];
    __syncthreads();
    A += BLOCKSIZE;
    B += BLOCKSIZE * N;
    for (int dotIdx = 0; dotIdx < BLOCKSIZE; ++dotIdx)
      tmp += As[threadRow * BLOCKSIZE + dotIdx] * Bs[dotIdx * BLOCKSIZE + threadCol];
    __syncthreads();
  }
  C[threadRow * N + threadCol] = alpha * tmp + beta * C[threadRow * N + threadCol];
}

template <const int BM, const int BN, const int BK, const int TM>
__global__ void sgemm_1d_tiling(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                                float* C) {
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const int threadCol = threadIdx.x % BN, threadRow = threadIdx.x / BN;
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const uint innerColA = threadIdx.x % BK, innerRowA = threadIdx.x / BK;
  const uint innerColB = threadIdx.x % BN, innerRowB = threadIdx.x / BN;
  float results[TM] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
    Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint dot = 0; dot < BK; ++dot) {
      float b = Bs[dot * BN + threadCol];
      for (uint r = 0; r < TM; ++r) results[r] += As[(threadRow * TM + r) * BK + dot] * b;
    }
    __syncthreads();
  }
  for (uint r = 0; r < TM; ++r) {
    float& c = C[(threadRow * TM + r) * N + threadCol];
    c = alpha * results[r] + beta * c;
  }
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    sgemm_2d_tiling(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint cRow = blockIdx.y, cCol = blockIdx.x;
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  A += cRow * BM * K;
  B += cCol * BN;
  C += cRow * BM * N + cCol * BN;
  const uint numThreads = BM * BN / (TM * TN);
  const uint innerRowA = threadIdx.x / BK, innerColA = threadIdx.x % BK, strideA = numThreads / BK;
  const uint innerRowB = threadIdx.x / BN, innerColB = threadIdx.x % BN, strideB = numThreads / BN;
  float threadResults[TM * TN] = {0.0}, regM[TM] = {0.0}, regN[TN] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    for (uint off = 0; off < BM; off += strideA)
      As[(innerRowA + off) * BK + innerColA] = A[(innerRowA + off) * K + innerColA];
    for (uint off = 0; off < BK; off += strideB)
      Bs[(innerRowB + off) * BN + innerColB] = B[(innerRowB + off) * N + innerColB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint dot = 0; dot < BK; ++dot) {
      for (uint i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + dot];
      for (uint i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (uint m = 0; m < TM; ++m)
        for (uint n = 0; n < TN; ++n) threadResults[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (uint m = 0; m < TM; ++m)
    for (uint n = 0; n < TN; ++n) {
      const uint at = (threadRow * TM + m) * N + threadCol * TN + n;
      C[at] = alpha * threadResults[m * TN + n] + beta * C[at];
    }
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm_vectorized(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const uint innerRowA = threadIdx.x / (BK / 4), innerColA = threadIdx.x % (BK / 4);
  const uint innerRowB = threadIdx.x / (BN / 4), innerColB = threadIdx.x % (BN / 4);
  float threadResults[TM * TN] = {0.0}, regM[TM] = {0.0}, regN[TN] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    float4 tmp = reinterpret_cast<float4*>(&A[innerRowA * K + innerColA * 4])[0];
    As[(innerColA * 4 + 0) * BM + innerRowA] = tmp.x;  // stored transposed
    As[(innerColA * 4 + 1) * BM + innerRowA] = tmp.y;
    As[(innerColA * 4 + 2) * BM + innerRowA] = tmp.z;
    As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;
    reinterpret_cast<float4*>(&Bs[innerRowB * BN + innerColB * 4])[0] =
        reinterpret_cast<float4*>(&B[innerRowB * N + innerColB * 4])[0];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint dot = 0; dot < BK; ++dot) {
      for (uint i = 0; i < TM; ++i) regM[i] = As[dot * BM + threadRow * TM + i];
      for (uint i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (uint m = 0; m < TM; ++m)
        for (uint n = 0; n < TN; ++n) threadResults[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (uint m = 0; m < TM; m += 1)
    for (uint n = 0; n < TN; n += 4) {
      float4 tmp = reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN + n])[0];
      tmp.x = alpha * threadResults[m * TN + n] + beta * tmp.x;
      tmp.y = alpha * threadResults[m * TN + n + 1] + beta * tmp.y;
      tmp.z = alpha * threadResults[m * TN + n + 2] + beta * tmp.z;
      tmp.w = alpha * threadResults[m * TN + n + 3] + beta * tmp.w;
      reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN + n])[0] = tmp;
    }
}

void run_kernel(int num, int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  switch (num) {
    case 1: {
      dim3 gridDim(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
      dim3 blockDim(32, 32);
      sgemm_naive<<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 2: {
      dim3 gridDim(CEIL_DIV(M, 16), CEIL_DIV(N, 16));
      dim3 blockDim(16 * 16);
      sgemm_coalesced<16><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 3: {
      dim3 gridDim(CEIL_DIV(M, 16), CEIL_DIV(N, 16));
      dim3 blockDim(16 * 16);
      cudaCheck(cudaFuncSetAttribute(sgemm_shared<16>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared));
      sgemm_shared<16><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 4: {
      const uint BM = 64, BN = 64, BK = 8, TM = 8;
      dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
      dim3 blockDim((BM * BN) / TM);
      sgemm_1d_tiling<BM, BN, BK, TM><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 5: {
      const uint BM = 64, BN = 64, BK = 8, TM = 8, TN = 8;
      dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
      dim3 blockDim((BM * BN) / (TM * TN));
      sgemm_2d_tiling<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 6: {
      const uint BM = 64, BN = 64, BK = 8, TM = 8, TN = 4;
      dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
      dim3 blockDim((BM * BN) / (TM * TN));
      sgemm_vectorized<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    default:
      printf("unknown kernel %d\n", num);
      exit(EXIT_FAILURE);
  }
  cudaCheck(cudaGetLastError());
}

int main(int argc, char** argv) {
  const int M = 128, N = 192, K = 64;
  const float alpha = 0.5f, beta = 3.0f;
  const int lo = argc > 1 ? atoi(argv[1]) : 1, hi = argc > 1 ? lo : 6;
  std::vector<float> A(M * K), B(K * N), C(M * N), R(M * N), out(M * N);
  for (int i = 0; i < M * K; ++i) A[i] = float(i % 11) - 5.f;
  for (int i = 0; i < K * N; ++i) B[i] = float(i % 13) - 6.f;
  for (int i = 0; i < M * N; ++i) C[i] = float(i % 3);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float s = 0.f;
      for (int k = 0; k < K; ++k) s += A[i * K + k] * B[k * N + j];
      R[i * N + j] = alpha * s + beta * C[i * N + j];
    }
  float *dA, *dB, *dC, elapsed;
  cudaEvent_t beg, end;
  cudaCheck(cudaEventCreate(&beg));
  cudaCheck(cudaEventCreate(&end));
  cudaCheck(cudaMalloc((void**)&dA, sizeof(float) * M * K));
  cudaCheck(cudaMalloc((void**)&dB, sizeof(float) * K * N));
  cudaCheck(cudaMalloc((void**)&dC, sizeof(float) * M * N));
  cudaCheck(cudaMemcpy(dA, A.data(), sizeof(float) * M * K, cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dB, B.data(), sizeof(float) * K * N, cudaMemcpyHostToDevice));
  int status = 0;
  for (int k = lo; k <= hi; ++k) {
    cudaCheck(cudaMemcpy(dC, C.data(), sizeof(float) * M * N, cudaMemcpyHostToDevice));
    cudaCheck(cudaEventRecord(beg));
    run_kernel(k, M, N, K, alpha, dA, dB, beta, dC);
    cudaCheck(cudaEventRecord(end));
    cudaCheck(cudaEventSynchronize(end));
    cudaCheck(cudaEventElapsedTime(&elapsed, beg, end));
    cudaCheck(cudaMemcpy(out.data(), dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));
    float worst = 0.f;
    for (int i = 0; i < M * N; ++i) worst = std::fmax(worst, std::fabs(out[i] - R[i]));
    printf("kernel %d: max diff %g (%s)\n", k, worst, elapsed >= 0.f ? "timed" : "no time");
    if (!(worst < 1e-3f)) status = 1;
  }
  cudaCheck(cudaFree(dA));
  cudaCheck(cudaFree(dB));
  cudaCheck(cudaFree(dC));
  cudaCheck(cudaEventDestroy(beg));
  cudaCheck(cudaEventDestroy(end));
  return status;
}
