// SPDX-License-Identifier: MIT
// All-pairs gravity with tiles of bodies in shared memory, float4 positions, leapfrog steps, ping-pong buffers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

#define cutilSafe(call) do { cudaError_t err = call; if (cudaSuccess != err) { fprintf(stderr, "error in '%s' line %i: %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); exit(EXIT_FAILURE); } } while (0)

#define SOFTENING2 0.01f

__host__ __device__ inline float3 interact(float3 a, float4 bi, float4 bj) {
  float3 r = make_float3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z);
  float d2 = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING2;
#ifdef __CUDA_ARCH__
  float inv = rsqrtf(d2);
#else
  float inv = 1.0f / sqrtf(d2);
#endif
  float s = bj.w * inv * inv * inv;
  a.x += r.x * s;
  a.y += r.y * s;
  a.z += r.z * s;
  return a;
}

__device__ float3 gravitation(float4 my, float3 acc, const float4* tile, int count) {
#pragma unroll 4
  for (int j = 0; j < count; ++j) acc = interact(acc, my, tile[j]);
  return acc;
}

__global__ void step(float4* __restrict__ newPos, const float4* __restrict__ oldPos, float4* __restrict__ vel, int n,
                     float dt) {
  extern __shared__ float4 shPos[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 my = i < n ? oldPos[i] : make_float4(0.f, 0.f, 0.f, 0.f);
  float3 acc = {0.f, 0.f, 0.f};
  for (int t = 0; t < n; t += blockDim.x) {
    const int j = t + threadIdx.x;
    if (j < n) shPos[threadIdx.x] = oldPos[j];
    __syncthreads();
    acc = gravitation(my, acc, shPos, min((int)blockDim.x, n - t));
    __syncthreads();
  }
  if (i >= n) return;
  float4 v = vel[i];
  v.x += acc.x * dt;
  v.y += acc.y * dt;
  v.z += acc.z * dt;
  vel[i] = v;
  newPos[i] = make_float4(my.x + v.x * dt, my.y + v.y * dt, my.z + v.z * dt, my.w);
}

int main() {
  const int n = 300, steps = 3, p = 64;
  const float dt = 0.01f;
  std::vector<float4> pos(n), vel(n), hp(n), got(n);
  for (int i = 0; i < n; ++i) {
    pos[i] = make_float4(sinf(1.7f * i) * 3.f, cosf(0.9f * i) * 3.f, sinf(0.3f * i), 0.1f + 0.01f * (i % 10));
    vel[i] = make_float4(0.f, 0.f, 0.f, 0.f);
  }
  float4 *a, *b, *v;
  cudaEvent_t start, stop;
  cutilSafe(cudaEventCreate(&start));
  cutilSafe(cudaEventCreate(&stop));
  cutilSafe(cudaMalloc((void**)&a, n * sizeof(float4)));
  cutilSafe(cudaMalloc((void**)&b, n * sizeof(float4)));
  cutilSafe(cudaMalloc((void**)&v, n * sizeof(float4)));
  cutilSafe(cudaMemcpy(a, pos.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  cutilSafe(cudaMemcpy(v, vel.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  cutilSafe(cudaEventRecord(start, 0));
  for (int s = 0; s < steps; ++s) {
    step<<<(n + p - 1) / p, p, p * sizeof(float4)>>>(b, a, v, n, dt);
    cutilSafe(cudaGetLastError());
    std::swap(a, b);
  }
  cutilSafe(cudaEventRecord(stop, 0));
  cutilSafe(cudaEventSynchronize(stop));
  cutilSafe(cudaMemcpy(got.data(), a, n * sizeof(float4), cudaMemcpyDeviceToHost));
  hp = pos;
  for (int s = 0; s < steps; ++s) {
    std::vector<float4> next(n);
    for (int i = 0; i < n; ++i) {
      float3 acc = make_float3(0.f, 0.f, 0.f);
      for (int j = 0; j < n; ++j) acc = interact(acc, hp[i], hp[j]);
      vel[i].x += acc.x * dt;
      vel[i].y += acc.y * dt;
      vel[i].z += acc.z * dt;
      next[i] = make_float4(hp[i].x + vel[i].x * dt, hp[i].y + vel[i].y * dt, hp[i].z + vel[i].z * dt, hp[i].w);
    }
    hp.swap(next);
  }
  float worst = 0.f, ms;
  for (int i = 0; i < n; ++i) {
    float d = fabsf(got[i].x - hp[i].x) + fabsf(got[i].y - hp[i].y) + fabsf(got[i].z - hp[i].z);
    if (!(d <= worst)) worst = d;
  }
  cutilSafe(cudaEventElapsedTime(&ms, start, stop));
  printf("max diff %.2e\n", worst);
  cutilSafe(cudaEventDestroy(start));
  cutilSafe(cudaEventDestroy(stop));
  cutilSafe(cudaFree(a));
  cutilSafe(cudaFree(b));
  cutilSafe(cudaFree(v));
  return worst < 1e-3f ? 0 : 1;
}
