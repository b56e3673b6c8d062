// SPDX-License-Identifier: MIT
/* device.cpp - describes a device that does not exist, with the limits of all cards */
#include <cstring>

#include "errors.h"
#include "memory.h"

using namespace cusim;

long long cusim_clock;

cudaError_t cudaDeviceSynchronize()
{
    note_check();  // it returns the error of a launch that ran; most programs ask so
    return status();
}

cudaError_t cudaDeviceReset()
{
    note_end();
    report_leaks();
    forget_errors();
    return cudaSuccess;
}

static cudaError_t only_device(int device)
{
    return device == 0 ? status() : fail(cudaErrorInvalidDevice);
}

cudaError_t cudaSetDevice(int device)
{
    return only_device(device);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return status();
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return status();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    if (device != 0) return fail(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    strcpy(p->name, "cusim (no GPU)");
    size_t free;
    device_memory_total(&free, &p->totalGlobalMem);
    p->sharedMemPerBlock = STATIC_SHARED_LIMIT;
    p->sharedMemPerBlockOptin = SHARED_LIMIT;
    p->sharedMemPerMultiprocessor = SHARED_LIMIT + 1024;
    p->reservedSharedMemPerBlock = 1024;
    p->totalConstMem = 64 << 10;
    p->regsPerBlock = p->regsPerMultiprocessor = 64 << 10;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 8;
    p->minor = 0;
    p->multiProcessorCount = 1;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->unifiedAddressing = p->managedMemory = p->canMapHostMemory = 1;
    p->clockRate = p->memoryClockRate = 1;  // programs divide by them
    p->memoryBusWidth = 1;
    return status();
}

static int attribute_of(const cudaDeviceProp &p, cudaDeviceAttr attribute)
{
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return (int)p.sharedMemPerBlock;
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return (int)p.sharedMemPerMultiprocessor;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return (int)p.sharedMemPerBlockOptin;
    }
    return -1;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error != cudaSuccess) return error;
    const int known = attribute_of(properties, attribute);
    if (known < 0) return fail(cudaErrorInvalidValue);
    *value = known;
    return status();
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return status();
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return status();
}
