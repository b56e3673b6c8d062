// SPDX-License-Identifier: MIT
// Reduction ladder in seven steps, from interleaved addressing to shuffles.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                                        \
  do {                                                                                          \
    cudaError_t status_ = call;                                                                 \
    if (status_ != cudaSuccess) {                                                               \
      fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));         \
      exit(EXIT_FAILURE);                                                                       \
    }                                                                                           \
  } while (0)

// 1: interleaved addressing, divergent branch
__global__ void reduce1(const int* g_in, int* g_out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? g_in[i] : 0;
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) g_out[blockIdx.x] = sdata[0];
}

// 2: strided index, bank conflicts
__global__ void reduce2(const int* g_in, int* g_out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? g_in[i] : 0;
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    unsigned int index = 2 * s * tid;
    if (index < blockDim.x) sdata[index] += sdata[index + s];
    __syncthreads();
  }
  if (tid == 0) g_out[blockIdx.x] = sdata[0];
}

// 3: sequential addressing
__global__ void reduce3(const int* g_in, int* g_out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  sdata[tid] = i < n ? g_in[i] : 0;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) g_out[blockIdx.x] = sdata[0];
}

// 4: first add during load
__global__ void reduce4(const int* g_in, int* g_out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  int mine = i < n ? g_in[i] : 0;
  if (i + blockDim.x < n) mine += g_in[i + blockDim.x];
  sdata[tid] = mine;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] = mine = mine + sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) g_out[blockIdx.x] = mine;
}

__device__ __forceinline__ int warpReduce(int v) {
#pragma unroll
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

// 5: last warp by shuffles
__global__ void reduce5(const int* g_in, int* g_out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
  int mine = i < n ? g_in[i] : 0;
  if (i + blockDim.x < n) mine += g_in[i + blockDim.x];
  sdata[tid] = mine;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
    if (tid < s) sdata[tid] = mine = mine + sdata[tid + s];
    __syncthreads();
  }
  if (tid < 32) {
    if (blockDim.x >= 64) mine += sdata[tid + 32];
    mine = warpReduce(mine);
    if (tid == 0) g_out[blockIdx.x] = mine;
  }
}

// 6: completely unrolled by the block size
template <unsigned int blockSize>
__global__ void reduce6(const int* g_in, int* g_out, unsigned int n) {
  extern __shared__ int sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid;
  int mine = i < n ? g_in[i] : 0;
  if (i + blockSize < n) mine += g_in[i + blockSize];
  sdata[tid] = mine;
  __syncthreads();
  if (blockSize >= 512) { if (tid < 256) sdata[tid] = mine = mine + sdata[tid + 256]; __syncthreads(); }
  if (blockSize >= 256) { if (tid < 128) sdata[tid] = mine = mine + sdata[tid + 128]; __syncthreads(); }
  if (blockSize >= 128) { if (tid < 64) sdata[tid] = mine = mine + sdata[tid + 64]; __syncthreads(); }
  if (tid < 32) {
    if (blockSize >= 64) mine += sdata[tid + 32];
    mine = warpReduce(mine);
    if (tid == 0) g_out[blockIdx.x] = mine;
  }
}

// 7: many elements per thread, shuffles in all warps, then in the first
template <unsigned int blockSize, bool nIsPow2>
__global__ void reduce7(const int* __restrict__ g_in, int* __restrict__ g_out, unsigned int n) {
  __shared__ int warpSums[blockSize / 32];
  unsigned int tid = threadIdx.x, grid = blockSize * 2 * gridDim.x;
  int mine = 0;
  for (unsigned int i = blockIdx.x * blockSize * 2 + tid; i < n; i += grid) {
    mine += g_in[i];
    if (nIsPow2 || i + blockSize < n) mine += g_in[i + blockSize];
  }
  mine = warpReduce(mine);
  if (tid % 32 == 0) warpSums[tid / 32] = mine;
  __syncthreads();
  if (tid < 32) {
    mine = tid < blockSize / 32 ? warpSums[tid] : 0;
    mine = warpReduce(mine);
    if (tid == 0) g_out[blockIdx.x] = mine;
  }
}

static void launch(int which, int threads, int blocks, const int* in, int* out, unsigned n) {
  dim3 dimBlock(threads, 1, 1), dimGrid(blocks, 1, 1);
  size_t smem = threads * sizeof(int);
  const bool pow2 = (n & (n - 1)) == 0;
  switch (which) {
    case 1: reduce1<<<dimGrid, dimBlock, smem>>>(in, out, n); break;
    case 2: reduce2<<<dimGrid, dimBlock, smem>>>(in, out, n); break;
    case 3: reduce3<<<dimGrid, dimBlock, smem>>>(in, out, n); break;
    case 4: reduce4<<<dimGrid, dimBlock, smem>>>(in, out, n); break;
    case 5: reduce5<<<dimGrid, dimBlock, smem>>>(in, out, n); break;
    case 6:
      switch (threads) {
        case 512: reduce6<512><<<dimGrid, dimBlock, smem>>>(in, out, n); break;
        case 256: reduce6<256><<<dimGrid, dimBlock, smem>>>(in, out, n); break;
        case 128: reduce6<128><<<dimGrid, dimBlock, smem>>>(in, out, n); break;
        case 64: reduce6<64><<<dimGrid, dimBlock, smem>>>(in, out, n); break;
      }
      break;
    case 7:
      if (pow2)
        reduce7<128, true><<<dimGrid, 128>>>(in, out, n);
      else
        reduce7<128, false><<<dimGrid, 128>>>(in, out, n);
      break;
  }
  CUDA_CHECK(cudaGetLastError());
}

int main() {
  int bad = 0;
  for (unsigned n : {8192u, 5000u}) {
    std::vector<int> h(n);
    int want = 0;
    for (unsigned i = 0; i < n; ++i) want += h[i] = int(i * 2654435761u >> 20) - 2048;
    int *in, *out;
    CUDA_CHECK(cudaMalloc((void**)&in, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc((void**)&out, 64 * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    for (int which = 1; which <= 7; ++which) {
      int threads = which == 6 && n == 5000u ? 128 : 256;
      int per = which < 4 ? threads : 2 * threads;
      int blocks = which == 7 ? 6 : (int(n) + per - 1) / per;
      CUDA_CHECK(cudaEventRecord(start, 0));
      launch(which, threads, blocks, in, out, n);
      CUDA_CHECK(cudaEventRecord(stop, 0));
      CUDA_CHECK(cudaEventSynchronize(stop));
      float ms;
      CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
      std::vector<int> part(blocks);
      CUDA_CHECK(cudaMemcpy(part.data(), out, blocks * sizeof(int), cudaMemcpyDeviceToHost));
      int got = 0;
      for (int p : part) got += p;
      printf("n %u reduce%d: %d %s\n", n, which, got, got == want ? "ok" : "WRONG");
      bad += got != want;
    }
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(in));
    CUDA_CHECK(cudaFree(out));
  }
  return bad ? 1 : 0;
}
