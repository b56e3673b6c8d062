// SPDX-License-Identifier: MIT
/* Lanes that leave out turns of a loop, or go round less often: which request an access
 * belongs to. Every load asks for neighbours that begin a row: 4 sectors. */
#include <cuda_runtime.h>

__global__ void skip(const float *x, float *y)
{
    float sum = 0;
    for (int k = 0; k < 9; k++) {
        if ((threadIdx.x + k) % 3 == 0) continue;
        sum += x[k * 32 + threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

__global__ void trips(const float *x, float *y)
{
    float sum = 0;
    for (int a = 0; a < 4; a++) {
        int k = 0;
        while (k < (int)threadIdx.x % 4) {
            sum += x[k * 32 + threadIdx.x];
            k++;
        }
    }
    y[threadIdx.x] = sum;
}

__device__ __noinline__ float column(const float *x)
{
    float sum = 0;
    int k = 0;
    do {
        sum += x[k * 32];
    } while (++k < 1 + (int)threadIdx.x % 2);
    return sum;
}

__global__ void calls(const float *x, float *y)
{
    const float first = column(x + threadIdx.x);
    y[threadIdx.x] = first + column(x + threadIdx.x);
}

int main()
{
    float *x, *y;
    if (cudaMalloc(&x, 32 * 32 * 4) || cudaMalloc(&y, 32 * 4)) return 1;
    cudaMemset(x, 0, 32 * 32 * 4);
    skip<<<1, 32>>>(x, y);
    trips<<<1, 32>>>(x, y);
    calls<<<1, 32>>>(x, y);
    if (cudaGetLastError()) return 1;
    cudaFree(x);
    cudaFree(y);
    return 0;
}
