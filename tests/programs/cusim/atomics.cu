// SPDX-License-Identifier: MIT
/* atomics.cu - every atomic operation by 4 blocks of 64 threads on one set of cells
 *
 * Whatever the order, the cells must hold the same at the end.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tally.h"

struct Cells {
    int add, sub, low, high, bits;
    unsigned up, down, wraps, ones, last;
    unsigned long long big, lock;
    float real;
    double precise;
    __half small;
    __half2 pair;
    __nv_bfloat16 brain;
};

__global__ void change(Cells *cells, const float *ones)
{
    const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(&cells->add, i);
    atomicSub(&cells->sub, 2);
    atomicMin(&cells->low, -i);
    atomicMax(&cells->high, i);
    atomicXor(&cells->bits, 1 << i % 31);
    atomicInc(&cells->up, 9u);
    atomicDec(&cells->down, 9u);
    atomicOr(&cells->ones, 1u << i % 32);
    atomicAnd(&cells->last, ~(1u << i % 32));
    atomicAdd(&cells->big, 1ull << 33);
    atomicAdd(&cells->real, __ldg(ones + i % 4));
    atomicAdd(&cells->precise, 0.5);
    atomicAdd(&cells->small, __float2half(1.0f));
    atomicAdd(&cells->pair, __floats2half2_rn(1.0f, -1.0f));
    atomicAdd(&cells->brain, __float2bfloat16(1.0f));
    unsigned long long seen = 0, before;  // a guess: CAS tells what is there
    do {
        before = seen;
        seen = atomicCAS(&cells->lock, before, before + 3);
    } while (seen != before);
}

__global__ void changed(Tally *tally, Cells *cells)  // by 4 blocks of 64
{
    CHECK(cells->add == 255 * 128 && cells->sub == -512);
    CHECK(cells->low == -255 && cells->high == 255);
    int bits = 0;
    for (int i = 0; i < 256; i++) bits ^= 1 << i % 31;
    CHECK(cells->bits == bits && cells->up == 256 % 10 &&
          cells->down == (10 - 256 % 10) % 10);
    CHECK(cells->ones == ~0u && cells->last == 0 && cells->big == 256ull << 33);
    CHECK(cells->real == 256 && cells->precise == 128 && cells->lock == 768);
    CHECK(float(cells->small) == 256 && __high2float(cells->pair) == -256);
    CHECK(float(cells->brain) == 256);
    CHECK(atomicExch(&cells->real, 2.0f) == 256 && cells->real == 2);
    CHECK(atomicCAS(&cells->add, 1, 2) == 255 * 128 && cells->add == 255 * 128);
}

int main()
{
    Tally *tally = tally_new();
    Cells *cells, zero = {};
    float *ones, values[4] = {1, 1, 1, 1};
    zero.last = ~0u;
    cudaMalloc(&cells, sizeof *cells);
    cudaMalloc(&ones, sizeof values);
    cudaMemcpy(cells, &zero, sizeof zero, cudaMemcpyHostToDevice);
    cudaMemcpy(ones, values, sizeof values, cudaMemcpyHostToDevice);
    change<<<4, 64>>>(cells, ones);
    check_launch();
    changed<<<1, 1>>>(tally, cells);
    check_launch();
    cudaFree(cells);
    cudaFree(ones);
    return tally_told(tally);
}
