// SPDX-License-Identifier: MIT
// Two-dimensional scaling of an image.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void scale2d(float* img, int w, int h, float k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) img[y * w + x] *= k;
}

#define CHECK(call)                                                        \
  {                                                                        \
    const cudaError_t error = call;                                        \
    if (error != cudaSuccess) {                                            \
      printf("Error: %s:%d, ", __FILE__, __LINE__);                        \
      printf("code:%d, reason: %s\n", error, cudaGetErrorString(error));   \
    }                                                                      \
  }

int main() {
  const int w = 100, h = 130;
  std::vector<float> img(w * h, 1.0f);
  float* d;
  CHECK(cudaMalloc(&d, img.size() * sizeof(float)));
  CHECK(cudaMemcpy(d, img.data(), img.size() * sizeof(float), cudaMemcpyHostToDevice));
  dim3 block(32, 64);
  dim3 grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
  scale2d<<<grid, block>>>(d, w, h, 2.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(img.data(), d, img.size() * sizeof(float), cudaMemcpyDeviceToHost));
  printf("%g\n", img[0]);
  CHECK(cudaFree(d));
  return 0;
}
