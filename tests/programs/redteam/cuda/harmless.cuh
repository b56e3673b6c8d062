// SPDX-License-Identifier: MIT
/* harmless - a kernel for programs whose fault is in how they launch it */
/* A thread owns one element and adds 0. No shared memory. */
static __global__ void fault_kernel(real *output, int64_t COUNT)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) output[i] += 0;
}
