// SPDX-License-Identifier: MIT
// Upload, add one, download, through a small buffer class.
#include <cstdio>
#include <stdexcept>
#include <vector>
#include <cuda_runtime.h>

static void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <typename T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t n) : n_(n) { check(cudaMalloc(&p_, n * sizeof(T))); }
  ~DeviceBuffer() { cudaFree(p_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void upload(std::vector<T>& h) {
    check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  void download(std::vector<T>& h) { check(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost)); }
  T* get() { return p_; }

 private:
  T* p_ = nullptr;
  size_t n_;
};

__global__ void add_one(int* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] += 1;
}

int main() {
  try {
    std::vector<int> h(500, 41);
    DeviceBuffer<int> d(h.size());
    d.upload(h);
    add_one<<<4, 128>>>(d.get(), int(h.size()));
    check(cudaGetLastError());
    d.download(h);
    std::printf("%d\n", h[0]);
  } catch (const std::exception& e) {
    std::printf("exception: %s\n", e.what());
    return 1;
  }
  return 0;
}
