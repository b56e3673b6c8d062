// SPDX-License-Identifier: MIT
/* errors.cpp - keeps the last error, and notes whether it was read after a launch */
#include "errors.h"

#include "findings.h"

namespace cusim
{

static cudaError_t last = cudaSuccess;
static bool sticky;  // after a kernel failed, every call says so
static bool unchecked;
static Where launched;

cudaError_t fail(cudaError_t error)
{
    if (error != cudaSuccess && !sticky) last = error;
    return sticky ? last : error;
}

void fail_for_ever(cudaError_t error)
{
    last = error;
    sticky = true;
}

cudaError_t status()
{
    return sticky ? last : cudaSuccess;
}

void note_launch(Where where)
{
    if (!unchecked) launched = where;  // a later question answers for all before it
    unchecked = true;
}

void note_check()
{
    unchecked = false;
}

void note_end()
{
    if (!unchecked) return;
    unchecked = false;
    found(Level::warning, "unchecked_launch",
          "the program does not check whether this launch failed. Call "
          "cudaGetLastError() after it: only this call reports a launch that never ran",
          {{"launched", launched}});
}

void forget_errors()
{
    last = cudaSuccess;
    sticky = false;
}

}  // namespace cusim

using namespace cusim;

cudaError_t cudaGetLastError()
{
    note_check();
    const cudaError_t error = last;
    if (!sticky) last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    note_check();
    return last;
}

struct Text {
    cudaError_t error;
    const char *name, *sentence;
};

#define TEXT(error, sentence)                                                          \
    {                                                                                  \
        error, #error, sentence                                                        \
    }
static const Text TEXTS[] = {
    TEXT(cudaSuccess, "no error"),
    TEXT(cudaErrorInvalidValue, "invalid argument"),
    TEXT(cudaErrorMemoryAllocation, "out of memory"),
    TEXT(cudaErrorInitializationError, "initialization error"),
    TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    TEXT(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    TEXT(cudaErrorInvalidSymbol, "invalid device symbol"),
    TEXT(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    TEXT(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    TEXT(cudaErrorInvalidDeviceFunction, "invalid device function"),
    TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    TEXT(cudaErrorNotReady, "device not ready"),
    TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    TEXT(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    TEXT(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    TEXT(cudaErrorAssert, "device-side assert triggered"),
    TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    TEXT(cudaErrorNotSupported, "operation not supported"),
    TEXT(cudaErrorUnknown, "unknown error"),
};
#undef TEXT

static const Text &text_of(cudaError_t error)
{
    for (const Text &text : TEXTS) {
        if (text.error == error) return text;
    }
    static const Text other = {error, "unrecognized error code",
                               "unrecognized error code"};
    return other;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return text_of(error).sentence;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return text_of(error).name;
}
