// SPDX-License-Identifier: MIT
/* A matrix product by 16 x 16 tiles, whose traffic has a formula (test_cusim.py). */
#include <cuda_runtime.h>
#include <stdio.h>

enum { M = 64, N = 96, K = 128, TILE = 16 };

__global__ void tiled(const float *lhs, const float *rhs, float *output)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int m = blockIdx.y * TILE + ty, n = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k = 0; k < K; k += TILE) {
        left[ty][tx] = lhs[m * K + k + tx];
        right[ty][tx] = rhs[(k + ty) * N + n];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    output[m * N + n] = sum;
}

int main()
{
    float *lhs, *rhs, *output;
    cudaMalloc(&lhs, M * K * sizeof(float));
    cudaMalloc(&rhs, K * N * sizeof(float));
    cudaMalloc(&output, M * N * sizeof(float));
    cudaMemset(lhs, 0, M * K * sizeof(float));
    cudaMemset(rhs, 0, K * N * sizeof(float));
    tiled<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE)>>>(lhs, rhs, output);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(lhs);
    cudaFree(rhs);
    cudaFree(output);
    return 0;
}
