// SPDX-License-Identifier: MIT
/* card - finds the first GPU and measures its peaks
 *
 *   card          the first GPU in one line of JSON; without one {"error": "..."}
 *   card rates    the same, with its measured peaks
 *
 * A separate process does this, because it makes a context that stays as long as the
 * process. The grader's process has only PyTorch's context. nvcc builds this file, and
 * in a test cusim does.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 256, CHAINS = 8, STEPS = 4096, TRIES = 9 };
constexpr size_t COPIED = (size_t)256 << 20;  // bytes: more than any cache holds

/* A thread owns 8 chains of multiply-adds that do not wait for each other. No shared
 * memory; the sum is stored so that nothing can be left out. */
static __global__ void fma_kernel(float *out, float factor, int steps)
{
    float chain[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++) chain[c] = threadIdx.x + c;
#pragma unroll 8
    for (int step = 0; step < steps; step++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++) chain[c] = chain[c] * factor + 0.5f;
    }
    float sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) sum += chain[c];
    out[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* A block owns 256 pieces of 16 bytes, thread i owns one. No shared memory. */
static __global__ void copy_kernel(const float4 *in, float4 *out, size_t count)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i];
}

static int fail(const char *doing, cudaError_t error)
{
    printf("{\"error\": \"%s: %s\"}\n", doing, cudaGetErrorString(error));
    return 1;
}

/* The best of some runs, in seconds; negative after a failure. */
template <typename Work> static double best_of(Work work)
{
    cudaEvent_t start, stop;
    if (cudaEventCreate(&start) || cudaEventCreate(&stop)) return -1;
    double best = -1;
    for (int i = 0; i < TRIES; i++) {
        float ms = 0;
        cudaEventRecord(start);
        work();
        cudaEventRecord(stop);
        if (cudaEventSynchronize(stop) || cudaGetLastError()) return -1;
        if (cudaEventElapsedTime(&ms, start, stop)) return -1;
        if (i == 0) continue;  // the first warms up
        if (best < 0 || ms * 1e-3 < best) best = ms * 1e-3;
    }
    return best;
}

/* Two more words of the line; nothing if they cannot be had. */
static void rates(int processors, size_t copied, int steps)
{
    const unsigned blocks = (unsigned)processors * 16;
    const size_t pieces = copied / sizeof(float4);
    void *in, *out;
    if (cudaMalloc(&in, copied) || cudaMalloc(&out, copied) ||
        cudaMemset(in, 1, copied))
        return;
    const double fma =
        best_of([&] { fma_kernel<<<blocks, THREADS>>>((float *)out, 0.999f, steps); });
    const double copy = best_of([&] {
        const unsigned all = (unsigned)((pieces + THREADS - 1) / THREADS);
        copy_kernel<<<all, THREADS>>>((const float4 *)in, (float4 *)out, pieces);
    });
    cudaFree(in);
    cudaFree(out);
    if (fma <= 0 || copy <= 0) return;
    const double many = (double)blocks * THREADS * CHAINS * steps;
    printf(", \"fma\": %.6g, \"bandwidth\": %.6g", many / fma, 2.0 * copied / copy);
}

int main(int argc, char **argv)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error) return fail("cudaGetDeviceCount", error);
    cudaDeviceProp card;
    if (!count) return fail("cudaGetDeviceCount", cudaErrorNoDevice);
    if ((error = cudaGetDeviceProperties(&card, 0))) return fail("properties", error);
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    printf("{\"name\": \"%s\", \"architecture\": \"sm_%d%d\", \"count\": %d, ",
           card.name, card.major, card.minor, count);
    printf("\"processors\": %d, \"l2\": %lld, \"memory\": %lld, ",
           card.multiProcessorCount, (long long)card.l2CacheSize,
           (long long)card.totalGlobalMem);
    printf("\"driver\": %d, \"runtime\": %d", driver, runtime);
    const bool asked = argc > 1 && strncmp(argv[1], "rates", 5) == 0;
    const bool small = asked && strcmp(argv[1], "rates-small") == 0;  // for a test
    if (asked) {
        rates(card.multiProcessorCount, small ? 1 << 16 : COPIED, small ? 8 : STEPS);
    }
    printf("}\n");
    return 0;
}
