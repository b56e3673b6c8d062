// SPDX-License-Identifier: MIT
/* An assert that fails in one thread of a kernel. */
#include <assert.h>
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void positive(const int *x)
{
    assert(x[threadIdx.x] > 0);  // HERE
}

int main()
{
    const int host[4] = {3, 2, 0, 1};
    int *x;
    if (cudaMalloc(&x, sizeof host)) return 1;
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    positive<<<1, 4>>>(x);
    const bool failed = cudaDeviceSynchronize() != cudaSuccess;
    printf("%s\n", failed ? "the host goes on" : "nothing happened");
    cudaFree(x);
    return 0;
}
