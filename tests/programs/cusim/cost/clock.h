// SPDX-License-Identifier: MIT
/* clock.h - what the programs of this folder share: times in ms, for `make stress` */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double milliseconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static int smaller_first(const void *one, const void *other)
{
    const double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

/* Prints the median of five, after one that is not counted. */
#define MEDIAN(work)                                                                   \
    do {                                                                               \
        double times[6];                                                               \
        for (double &time : times) {                                                   \
            const double start = milliseconds();                                       \
            work;                                                                      \
            time = milliseconds() - start;                                             \
        }                                                                              \
        qsort(times + 1, 5, sizeof times[0], smaller_first);                           \
        printf("%.4f\n", times[3]);                                                    \
    } while (0)

/* Device memory of `count` ones. */
static float *ones(int count)
{
    float *const host = (float *)malloc(count * sizeof(float)), *device = NULL;
    for (int i = 0; i < count; i++) host[i] = 1;
    if (cudaMalloc(&device, count * sizeof(float)) != cudaSuccess) exit(1);
    cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice);
    free(host);
    return device;
}

/* 0 if every number is `value`, the exit status of a program that is right. */
static int holds(const float *device, int count, float value)
{
    float *const host = (float *)malloc(count * sizeof(float));
    const cudaError_t error =
        cudaMemcpy(host, device, count * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = error != cudaSuccess;
    for (int i = 0; i < count; i++) wrong += host[i] != value;
    free(host);
    return wrong != 0;
}
