// SPDX-License-Identifier: MIT
// Transpose ladder: copies as yardstick, naive, through shared memory, without bank conflicts, diagonal.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;
const int NUM_REPS = 2;

inline cudaError_t checkCuda(cudaError_t result) {
  if (result != cudaSuccess) {
    fprintf(stderr, "CUDA Runtime Error: %s\n", cudaGetErrorString(result));
    exit(1);
  }
  return result;
}

__global__ void copyPlain(float* odata, const float* idata) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * width + x] = idata[(y + j) * width + x];
}

__global__ void copySharedMem(float* odata, const float* idata) {
  __shared__ float tile[TILE_DIM * TILE_DIM];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    tile[(threadIdx.y + j) * TILE_DIM + threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    odata[(y + j) * width + x] = tile[(threadIdx.y + j) * TILE_DIM + threadIdx.x];
}

__global__ void transposeNaive(float* odata, const float* idata) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM, height = gridDim.y * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[x * height + (y + j)] = idata[(y + j) * width + x];
}

template <int PAD>
__global__ void transposeShared(float* odata, const float* idata) {
  __shared__ float tile[TILE_DIM][TILE_DIM + PAD];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM, height = gridDim.y * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void transposeDiagonal(float* odata, const float* idata) {
  __shared__ float tile[TILE_DIM][TILE_DIM + 1];
  int bid = blockIdx.x + gridDim.x * blockIdx.y;
  int by = bid % gridDim.y;
  int bx = ((bid / gridDim.y) + by) % gridDim.x;
  int width = gridDim.x * TILE_DIM, height = gridDim.y * TILE_DIM;
  int x = bx * TILE_DIM + threadIdx.x, y = by * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = by * TILE_DIM + threadIdx.x;
  y = bx * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

typedef void (*KernelPtr)(float*, const float*);

int main() {
  const int nx = 96, ny = 64;
  const size_t bytes = nx * ny * sizeof(float);
  dim3 dimGrid(nx / TILE_DIM, ny / TILE_DIM, 1), dimBlock(TILE_DIM, BLOCK_ROWS, 1);
  std::vector<float> in(nx * ny), gold(nx * ny), out(nx * ny);
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) {
      in[y * nx + x] = float(y * nx + x);
      gold[x * ny + y] = in[y * nx + x];
    }
  float *d_in, *d_out, ms;
  checkCuda(cudaMalloc(&d_in, bytes));
  checkCuda(cudaMalloc(&d_out, bytes));
  checkCuda(cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice));
  cudaEvent_t startEvent, stopEvent;
  checkCuda(cudaEventCreate(&startEvent));
  checkCuda(cudaEventCreate(&stopEvent));
  struct Entry { const char* name; KernelPtr k; bool transposed; };
  const Entry table[] = {{"copy", copyPlain, false},
                         {"shared memory copy", copySharedMem, false},
                         {"naive transpose", transposeNaive, true},
                         {"coalesced transpose", transposeShared<0>, true},
                         {"conflict-free transpose", &transposeShared<1>, true},
                         {"diagonal transpose", transposeDiagonal, true}};
  int bad = 0;
  for (const Entry& e : table) {
    checkCuda(cudaMemset(d_out, 0, bytes));
    e.k<<<dimGrid, dimBlock>>>(d_out, d_in);  // warm up
    checkCuda(cudaGetLastError());
    checkCuda(cudaEventRecord(startEvent, 0));
    for (int i = 0; i < NUM_REPS; ++i) e.k<<<dimGrid, dimBlock>>>(d_out, d_in);
    checkCuda(cudaGetLastError());
    checkCuda(cudaEventRecord(stopEvent, 0));
    checkCuda(cudaEventSynchronize(stopEvent));
    checkCuda(cudaEventElapsedTime(&ms, startEvent, stopEvent));
    checkCuda(cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost));
    bool ok = out == (e.transposed ? gold : in);
    printf("%25s %s\n", e.name, ok ? "ok" : "*** FAILED ***");
    bad += !ok;
  }
  checkCuda(cudaEventDestroy(startEvent));
  checkCuda(cudaEventDestroy(stopEvent));
  checkCuda(cudaFree(d_in));
  checkCuda(cudaFree(d_out));
  return bad ? 1 : 0;
}
