// SPDX-License-Identifier: MIT
// One thread does the work of all: slow, and right.
#include <cuda_runtime.h>
#include <stdio.h>

#define CHECK(call)                                                                    \
    do {                                                                               \
        if ((call) != cudaSuccess) return 1;                                           \
    } while (0)

enum { COUNT = 1 << 16, TURNS = 300 };

__global__ void add_ones(float *numbers)
{
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < COUNT; i++) numbers[i] += 1;
    }
}

int main()
{
    static float host[COUNT];
    float *numbers;
    CHECK(cudaMalloc(&numbers, sizeof host));
    CHECK(cudaMemset(numbers, 0, sizeof host));
    add_ones<<<1, 1>>>(numbers);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, numbers, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(numbers));
    printf("%g\n", host[COUNT - 1]);
    return 0;
}
