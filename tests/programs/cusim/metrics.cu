// SPDX-License-Identifier: MIT
/* Kernels whose sectors and wavefronts can be worked out by hand (test_cusim.py). */
#include <cuda_runtime.h>
#include <cstdio>
__global__ void coalesced(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void vec4(const float4 *in, float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void some_of_4(const uint4 *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 all = in[i];
    out[i] = all.x + all.w;
}
static __device__ double2 pair_at(const double2 *in, int i, int count)
{
    const double2 pair = i < count ? in[i] : double2{};
    return pair;
}
__global__ void by_a_function(const double2 *in, double *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double2 pair = pair_at(in, i, count);
    const double *lanes = (const double *)&pair;
    double sum = 0;
    for (int l = 0; l < 2; l++) sum += lanes[l];
    out[i] = sum;
}
__global__ void strided(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * 32];
}
template <int PAD> __global__ void transpose(const float *in, float *out)
{
    __shared__ float t[32][32 + PAD];
    t[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}
int main()
{
    float *a, *b;
    cudaMalloc(&a, 1 << 20);
    cudaMalloc(&b, 1 << 20);
    cudaMemset(a, 0, 1 << 20);
    coalesced<<<4, 256>>>(a, b);
    vec4<<<4, 256>>>((float4 *)a, (float4 *)b);
    some_of_4<<<4, 256>>>((uint4 *)a, (unsigned *)b);
    by_a_function<<<4, 256>>>((double2 *)a, (double *)b, 1024);
    strided<<<4, 256>>>(a, b);
    transpose<0><<<1, dim3(32, 32)>>>(a, b);
    transpose<1><<<1, dim3(32, 32)>>>(a, b);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(a);
    cudaFree(b);
}
