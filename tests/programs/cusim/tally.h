// SPDX-License-Identifier: MIT
/* tally.h - how the CUDA programs of this folder count what they checked
 *
 * Each of them is an ordinary program, compiled by nvcc for a GPU and by cusim for
 * none; it says `ok N checks`, or names the lines of the first failures and returns 1.
 */
#ifndef TALLY_H
#define TALLY_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

struct Tally {
    unsigned checks, failures;
};

__device__ inline void check_at(Tally *tally, bool holds, int line)
{
    atomicAdd(&tally->checks, 1u);
    if (!holds && atomicAdd(&tally->failures, 1u) < 10)
        printf("line %d fails in block %u, thread %u\n", line, blockIdx.x, threadIdx.x);
}

#define CHECK(condition) check_at(tally, condition, __LINE__)

inline Tally *tally_new()
{
    Tally *tally = NULL;
    if (cudaMalloc(&tally, sizeof *tally) != cudaSuccess) return NULL;
    cudaMemset(tally, 0, sizeof *tally);
    return tally;
}

inline void check_launch()
{
    const cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return;
    printf("%s\n", cudaGetErrorString(error));
    exit(1);
}

inline int tally_told(Tally *tally)
{
    const cudaError_t ran = cudaDeviceSynchronize();
    Tally got = {0, 1};
    cudaMemcpy(&got, tally, sizeof got, cudaMemcpyDeviceToHost);
    cudaFree(tally);
    if (ran != cudaSuccess)
        printf("%s\n", cudaGetErrorString(ran));
    else if (got.failures == 0 && got.checks > 0)
        return printf("ok %u checks\n", got.checks), 0;
    printf("%u of %u checks fail\n", got.failures, got.checks);
    return 1;
}

#endif
