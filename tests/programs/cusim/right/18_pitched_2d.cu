// SPDX-License-Identifier: MIT
// Pitched image, two-dimensional grid, five-point mean with clamped borders.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(1); } } while (0)

template <typename T>
__device__ __forceinline__ T* row_of(T* base, size_t pitch, int y) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(base) + y * pitch);
}

__global__ void cross(int* src, size_t sp, int* dst, size_t dp, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int l = max(x - 1, 0), r = min(x + 1, w - 1), u = max(y - 1, 0), d = min(y + 1, h - 1);
  int* row = row_of(src, sp, y);
  row_of(dst, dp, y)[x] = row[l] + row[x] + row[r] + row_of(src, sp, u)[x] + row_of(src, sp, d)[x];
}

int main() {
  const int w = 53, h = 29;
  std::vector<int> img(w * h), out(w * h, -1);
  for (int i = 0; i < w * h; ++i) img[i] = (i * 17) % 255;
  int *a, *b;
  size_t pa, pb;
  CHECK(cudaMallocPitch((void**)&a, &pa, w * sizeof(int), h));
  CHECK(cudaMallocPitch((void**)&b, &pb, w * sizeof(int), h));
  CHECK(cudaMemset2D(b, pb, 0, w * sizeof(int), h));
  CHECK(cudaMemcpy2D(a, pa, img.data(), w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
  dim3 block(16, 4), grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
  cross<<<grid, block>>>(a, pa, b, pb, w, h);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(out.data(), w * sizeof(int), b, pb, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  int bad = 0;
  auto at = [&](int x, int y) {
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    return img[y * w + x];
  };
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      bad += out[y * w + x] != at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
  std::printf("%s\n", bad ? "WRONG" : "ok");
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return bad ? 1 : 0;
}
