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
    strided<<<4, 256>>>(a, b);
    transpose<0><<<1, dim3(32, 32)>>>(a, b);
    transpose<1><<<1, dim3(32, 32)>>>(a, b);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(a);
    cudaFree(b);
}
