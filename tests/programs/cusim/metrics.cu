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
/* Which of numbers 0 to 31 a lane takes: lanes i and i ^ APART take the same one; with
 * APART 0 each lane has its own. */
template <int APART> static __device__ int taken(int lane)
{
    return APART ? lane / (2 * APART) * APART + lane % APART : lane;
}
template <int APART> __global__ void read_8(float2 *out)
{
    __shared__ float2 numbers[32];
    const int lane = threadIdx.x;
    numbers[lane] = out[lane];
    __syncthreads();
    out[lane] = numbers[taken<APART>(lane)];
}
template <int APART> __global__ void read_16(float4 *out)
{
    __shared__ float4 numbers[32];
    const int lane = threadIdx.x;
    numbers[lane] = out[lane];
    __syncthreads();
    out[lane] = numbers[taken<APART>(lane)];
}
__global__ void half_shares(float4 *out)
{
    __shared__ float4 numbers[32];
    const int lane = threadIdx.x;
    numbers[lane] = out[lane];
    __syncthreads();
    const float4 got = numbers[lane < 16 ? taken<1>(lane) : lane];
    out[lane] = got;
}
template <int LANES> __global__ void first_lanes(float4 *out)
{
    __shared__ float4 numbers[32];
    const int lane = threadIdx.x;
    numbers[lane] = out[lane];
    __syncthreads();
    if (lane < LANES) out[lane] = numbers[taken<1>(lane)];
}
__global__ void stores_share(float4 *out)
{
    __shared__ float4 numbers[16];
    const int lane = threadIdx.x;
    numbers[lane / 2] = out[lane / 2];  // both lanes store the same
    __syncthreads();
    out[lane] = numbers[lane / 2];
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
    read_8<0><<<1, 32>>>((float2 *)b);
    read_8<1><<<1, 32>>>((float2 *)b);
    read_8<2><<<1, 32>>>((float2 *)b);
    read_8<4><<<1, 32>>>((float2 *)b);
    read_16<0><<<1, 32>>>((float4 *)b);
    read_16<1><<<1, 32>>>((float4 *)b);
    read_16<2><<<1, 32>>>((float4 *)b);
    read_16<4><<<1, 32>>>((float4 *)b);
    half_shares<<<1, 32>>>((float4 *)b);
    first_lanes<31><<<1, 32>>>((float4 *)b);
    first_lanes<30><<<1, 32>>>((float4 *)b);
    stores_share<<<1, 32>>>((float4 *)b);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(a);
    cudaFree(b);
}
