// SPDX-License-Identifier: MIT
/* api.h - the CUDA runtime API: memory, streams, events, errors, device properties
 *
 * Names, arguments and results are as in CUDA's runtime API. cusim completes each call
 * at once, in the order of the calls. So a stream is only a name, and an event is a
 * time stamp. The last argument of each function is the line of the caller, as a
 * default argument. Reports of wrong calls name this line.
 */
#ifndef CUSIM_API_H
#define CUSIM_API_H

#include "core.h"

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidDevicePointer = 17,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorAssert = 710,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorUnknown = 999,
};
typedef enum cudaError_t cudaError;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxL1 = 0,
    cudaSharedmemCarveoutMaxShared = 100,
};

enum cudaFuncCache {
    cudaFuncCachePreferNone,
    cudaFuncCachePreferShared,
    cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual,
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged,
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};

enum {
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaMemAttachGlobal = 1,
    cudaStreamDefault = 0,
    cudaStreamNonBlocking = 1,
    cudaEventDefault = 0,
    cudaEventBlockingSync = 1,
    cudaEventDisableTiming = 2,
};

typedef struct CUevent_st *cudaEvent_t;

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor;
    size_t sharedMemPerBlockOptin, reservedSharedMemPerBlock, memPitch;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor;
    int regsPerMultiprocessor, maxBlocksPerMultiProcessor, l2CacheSize, memoryBusWidth;
    int concurrentKernels, ECCEnabled, unifiedAddressing, managedMemory, integrated;
    int canMapHostMemory, asyncEngineCount, cooperativeLaunch, clockRate,
        memoryClockRate;
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

/* ---- errors ---------------------------------------------------------------------- */

cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);

/* ---- memory ---------------------------------------------------------------------- */

cudaError_t cudaMalloc(void **pointer, size_t bytes, CUSIM_WHERE);
cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags = 1,
                              CUSIM_WHERE);
cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream,
                            CUSIM_WHERE);
cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height,
                            CUSIM_WHERE);
cudaError_t cudaMallocHost(void **pointer, size_t bytes, unsigned flags = 0);
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaFree(void *pointer, CUSIM_WHERE);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream, CUSIM_WHERE);

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                       CUSIM_WHERE);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream = 0, CUSIM_WHERE);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind, CUSIM_WHERE);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream = 0,
                              CUSIM_WHERE);
cudaError_t cudaMemset(void *to, int value, size_t bytes, CUSIM_WHERE);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream = 0,
                            CUSIM_WHERE);
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height,
                         CUSIM_WHERE);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes,
                                     const void *pointer);

template <class T> inline cudaError_t cudaMalloc(T **pointer, size_t bytes, CUSIM_WHERE)
{
    return cudaMalloc((void **)(void *)pointer, bytes, where);
}
template <class T>
inline cudaError_t cudaMallocManaged(T **pointer, size_t bytes, unsigned flags = 1,
                                     CUSIM_WHERE)
{
    return cudaMallocManaged((void **)(void *)pointer, bytes, flags, where);
}
template <class T>
inline cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaStream_t stream,
                                   CUSIM_WHERE)
{
    return cudaMallocAsync((void **)(void *)pointer, bytes, stream, where);
}
template <class T>
inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width,
                                   size_t height, CUSIM_WHERE)
{
    return cudaMallocPitch((void **)(void *)pointer, pitch, width, height, where);
}
template <class T>
inline cudaError_t cudaMallocHost(T **pointer, size_t bytes, unsigned flags = 0)
{
    return cudaMallocHost((void **)(void *)pointer, bytes, flags);
}
template <class T>
inline cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned flags)
{
    return cudaHostAlloc((void **)(void *)pointer, bytes, flags);
}

/* Symbols: __device__ and __constant__ variables are ordinary variables in cusim. */
namespace cusim
{
cudaError_t copy_to_symbol(void *symbol, size_t room, const void *from, size_t bytes,
                           size_t offset, cudaMemcpyKind kind, cudaStream_t stream,
                           Where where);
cudaError_t copy_from_symbol(void *to, const void *symbol, size_t room, size_t bytes,
                             size_t offset, cudaMemcpyKind kind, cudaStream_t stream,
                             Where where);
void remember_symbol(const void *symbol, size_t bytes);
}  // namespace cusim

template <class T>
inline cudaError_t
cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                   cudaMemcpyKind kind = cudaMemcpyHostToDevice, CUSIM_WHERE)
{
    return ::cusim::copy_to_symbol((void *)&symbol, sizeof symbol, from, bytes, offset,
                                   kind, 0, where);
}
template <class T>
inline cudaError_t
cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset,
                        cudaMemcpyKind kind, cudaStream_t stream = 0, CUSIM_WHERE)
{
    return ::cusim::copy_to_symbol((void *)&symbol, sizeof symbol, from, bytes, offset,
                                   kind, stream, where);
}
template <class T>
inline cudaError_t
cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost, CUSIM_WHERE)
{
    return ::cusim::copy_from_symbol(to, &symbol, sizeof symbol, bytes, offset, kind, 0,
                                     where);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes,
                                             size_t offset, cudaMemcpyKind kind,
                                             cudaStream_t stream = 0, CUSIM_WHERE)
{
    return ::cusim::copy_from_symbol(to, &symbol, sizeof symbol, bytes, offset, kind,
                                     stream, where);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    *pointer = (void *)&symbol;
    ::cusim::remember_symbol(&symbol, sizeof symbol);
    return cudaSuccess;
}
template <class T> inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
    *bytes = sizeof symbol;
    return cudaSuccess;
}

/* ---- streams and events ---------------------------------------------------------- */

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream, CUSIM_WHERE);
cudaError_t cudaStreamSynchronize(cudaStream_t stream, CUSIM_WHERE);
cudaError_t cudaStreamQuery(cudaStream_t stream, CUSIM_WHERE);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags = 0, CUSIM_WHERE);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0, CUSIM_WHERE);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);

/* Sets the CPU's milliseconds between two events. This tells nothing of a GPU. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                 cudaEvent_t stop);

/* ---- the device ------------------------------------------------------------------ */

cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);

/* ---- kernels --------------------------------------------------------------------- */

namespace cusim
{
cudaError_t set_dynamic_shared(const void *kernel, int bytes, Where where);
cudaError_t function_attributes(cudaFuncAttributes *attributes, const void *kernel);
cudaError_t blocks_per_multiprocessor(int *blocks, int threads, size_t shared);
}  // namespace cusim

template <class K>
inline cudaError_t cudaFuncSetAttribute(K *kernel, cudaFuncAttribute attribute,
                                        int value, CUSIM_WHERE)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    return ::cusim::set_dynamic_shared((const void *)kernel, value, where);
}
template <class K> inline cudaError_t cudaFuncSetCacheConfig(K *, cudaFuncCache)
{
    return cudaSuccess;
}
template <class K>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, K *kernel)
{
    return ::cusim::function_attributes(attributes, (const void *)kernel);
}
template <class K>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K *,
                                                                 int threads,
                                                                 size_t shared)
{
    return ::cusim::blocks_per_multiprocessor(blocks, threads, shared);
}
template <class K>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, K *,
                                                      size_t = 0, int limit = 0)
{
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = 1;
    return cudaSuccess;
}

namespace cusim
{
template <class... P, size_t... I>
inline void launch_array(void (*kernel)(P...), Config config, void **arguments,
                         Where where, std::index_sequence<I...>)
{
    (void)arguments;
    launch(kernel, "cudaLaunchKernel", config, where)(*(P *)arguments[I]...);
}
}  // namespace cusim

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                    void **arguments, size_t shared = 0,
                                    cudaStream_t stream = 0, CUSIM_WHERE)
{
    ::cusim::launch_array(kernel, ::cusim::config(grid, block, shared, stream),
                          arguments, where, std::index_sequence_for<P...>());
    return cudaPeekAtLastError();
}

#endif
