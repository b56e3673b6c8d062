// SPDX-License-Identifier: MIT
/* 256 x 256 x 256 by blocks of 64 x 64, 4 x 4 outputs for each thread. */
#include "clock.h"

enum { SIZE = 256, BM = 64, BN = 64, BK = 16, TM = 4, TN = 4 };
enum { THREADS = BM / TM * (BN / TN) };

__global__ void blocked(const float *lhs, const float *rhs, float *output)
{
    __shared__ float left[BK][BM], right[BK][BN];
    const int thread = threadIdx.x, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int tm = thread / (BN / TN) * TM, tn = thread % (BN / TN) * TN;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < SIZE; k0 += BK) {
        for (int i = thread; i < BM * BK; i += THREADS) {
            left[i % BK][i / BK] = lhs[(m0 + i / BK) * SIZE + k0 + i % BK];
            right[i / BN][i % BN] = rhs[(k0 + i / BN) * SIZE + n0 + i % BN];
        }
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            for (int i = 0; i < TM; i++) {
                for (int j = 0; j < TN; j++) {
                    sum[i][j] += left[k][tm + i] * right[k][tn + j];
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) {
        for (int j = 0; j < TN; j++) {
            output[(m0 + tm + i) * SIZE + n0 + tn + j] = sum[i][j];
        }
    }
}

int main()
{
    const dim3 grid(SIZE / BN, SIZE / BM);
    float *const lhs = ones(SIZE * SIZE), *const rhs = ones(SIZE * SIZE);
    float *const output = ones(SIZE * SIZE);
    MEDIAN((blocked<<<grid, THREADS>>>(lhs, rhs, output)));
    return holds(output, SIZE * SIZE, SIZE);
}
