// SPDX-License-Identifier: MIT
/* One block of one thread that does nothing, a thousand times. */
#include "clock.h"

__global__ void nothing()
{
}

static void thousand()
{
    for (int i = 0; i < 1000; i++) nothing<<<1, 1>>>();
}

int main()
{
    MEDIAN(thousand());
    return cudaGetLastError() != cudaSuccess;
}
