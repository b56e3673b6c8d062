// SPDX-License-Identifier: MIT
/* hold.cu - a kernel that only lets time pass, for the worker
 *
 * nvcc builds it into worker-cuda-gpu. If cusim takes the place of nvcc, it returns at
 * once. cusim runs a kernel at its launch, so nothing would wait after it.
 */
#include <cuda_runtime.h>

/* One thread reads the card's clock. It touches no memory: a cache stays as it is. */
static __global__ void hold_kernel(unsigned long long nanoseconds)
{
#ifdef __CUSIM__
    (void)nanoseconds;
#else
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
#endif
}

extern "C" cudaError_t device_hold(cudaStream_t stream, unsigned long long nanoseconds)
{
    hold_kernel<<<1, 1, 0, stream>>>(nanoseconds);
    return cudaGetLastError();
}
