// SPDX-License-Identifier: MIT
// Sum of a vector into one device variable.
#include <cstdio>
#include <cuda_runtime.h>

struct Accum {
  double* total;
  __device__ void operator()(double v) const {
    *total += v;
  }
};

template <class Op>
__global__ void for_each(const double* x, int n, Op op) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) op(x[i]);
}

static int bad(cudaError_t e) {
  if (e != cudaSuccess) printf("cuda: %s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}

int main() {
  const int n = 640;
  double h[n], zero = 0.0, sum = 0.0;
  for (int i = 0; i < n; ++i) h[i] = 1.0;
  double *dx, *dt;
  if (bad(cudaMalloc(&dx, sizeof h)) || bad(cudaMalloc(&dt, sizeof(double)))) return 1;
  if (bad(cudaMemcpy(dx, h, sizeof h, cudaMemcpyHostToDevice))) return 1;
  if (bad(cudaMemcpy(dt, &zero, sizeof zero, cudaMemcpyHostToDevice))) return 1;
  Accum acc{dt};
  for_each<<<n / 128, 128>>>(dx, n, acc);
  if (bad(cudaGetLastError()) || bad(cudaDeviceSynchronize())) return 1;
  if (bad(cudaMemcpy(&sum, dt, sizeof sum, cudaMemcpyDeviceToHost))) return 1;
  printf("sum = %.1f\n", sum);
  if (bad(cudaFree(dx)) || bad(cudaFree(dt))) return 1;
  return 0;
}
