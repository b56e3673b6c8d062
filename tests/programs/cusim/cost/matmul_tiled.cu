// SPDX-License-Identifier: MIT
/* 256 x 256 x 256 by 16 x 16 tiles: two barriers for each tile. */
#include "clock.h"

enum { SIZE = 256, TILE = 16 };

__global__ void tiled(const float *lhs, const float *rhs, float *output)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int m = blockIdx.y * TILE + ty, n = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k = 0; k < SIZE; k += TILE) {
        left[ty][tx] = lhs[m * SIZE + k + tx];
        right[ty][tx] = rhs[(k + ty) * SIZE + n];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    output[m * SIZE + n] = sum;
}

int main()
{
    const dim3 grid(SIZE / TILE, SIZE / TILE), block(TILE, TILE);
    float *const lhs = ones(SIZE * SIZE), *const rhs = ones(SIZE * SIZE);
    float *const output = ones(SIZE * SIZE);
    MEDIAN((tiled<<<grid, block>>>(lhs, rhs, output)));
    return holds(output, SIZE * SIZE, SIZE);
}
