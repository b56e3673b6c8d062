// SPDX-License-Identifier: MIT
/* kernels.h - the rungs of labs 03 and 04, as one table per operator and direction
 *
 * The build (setup.py) links the rungs that lab.toml names into one object, their
 * functions renamed by device and dtype: conv2d_forward_cpu_f32, .._cuda_f64.
 * A rung that is not there leaves a weak symbol, NULL, and `of` says so in a sentence:
 * the library loads without it.
 *
 *     KERNELS(conv2d_forward);                    // declares and collects them
 *     conv2d_forward_kernels.of(DEVICE_CPU, DTYPE_F64)
 */
#pragma once

#include <stdexcept>
#include <string>

#include "operators.h"

inline const char *name_of(device_t device)
{
    return device == DEVICE_CUDA ? "CUDA" : "CPU";
}

inline const char *name_of(dtype_t dtype)
{
    switch (dtype) {
    case DTYPE_F16: return "float16";
    case DTYPE_BF16: return "bfloat16";
    case DTYPE_F32: return "float32";
    case DTYPE_F64: return "float64";
    case DTYPE_I32: return "int32";
    case DTYPE_I64: return "int64";
    }
    return "an unknown dtype";
}

template <typename Function> struct kernels_t {
    const char *name;  // conv2d_forward
    Function *cpu_f32, *cpu_f64, *cuda_f16, *cuda_f32, *cuda_f64;

    Function *of(device_t device, dtype_t dtype) const
    {
        Function *found = nullptr;
        if (device == DEVICE_CPU && dtype == DTYPE_F32) found = cpu_f32;
        if (device == DEVICE_CPU && dtype == DTYPE_F64) found = cpu_f64;
        if (device == DEVICE_CUDA && dtype == DTYPE_F16) found = cuda_f16;
        if (device == DEVICE_CUDA && dtype == DTYPE_F32) found = cuda_f32;
        if (device == DEVICE_CUDA && dtype == DTYPE_F64) found = cuda_f64;
        if (found) return found;
        throw std::runtime_error(std::string(name) + ": this build has no kernel for " +
                                 name_of(dtype) + " on " + name_of(device) +
                                 "; convlab_ext.parts() lists what it has");
    }
};

#define KERNEL_HERE __attribute__((weak, visibility("hidden")))
#define KERNELS(name)                                                                  \
    extern "C" {                                                                       \
    KERNEL_HERE name##_fn name##_cpu_f32, name##_cpu_f64;                              \
    KERNEL_HERE name##_fn name##_cuda_f16, name##_cuda_f32, name##_cuda_f64;           \
    }                                                                                  \
    static const kernels_t<name##_fn> name##_kernels = {                               \
        #name,           name##_cpu_f32,  name##_cpu_f64,                              \
        name##_cuda_f16, name##_cuda_f32, name##_cuda_f64}
