// SPDX-License-Identifier: MIT
/* kernels.h - the rungs of labs 03 and 04, as one table per operator and direction
 *
 * The build (setup.py) links the rungs that lab.toml names. It adds the device and
 * dtype to each function's name: conv2d_forward_cpu_f32, .._cuda_f64. If a rung is
 * missing, its weak symbol is NULL. The library still loads, but `of` throws an error
 * with a message. A wheel has kernels for two levels of processors (level.h):
 * conv2d_forward_cpu_f32_v3, .._v4. `best` chooses one when the library is loaded.
 *
 *     KERNELS(conv2d_forward);                    // declares all of them
 *     conv2d_forward_kernels.of(DEVICE_CPU, DTYPE_F64)
 *
 * On the CPU an operator can have a second set of kernels, conv2d_forward_direct_f32.
 * The kernels of this set add the products of the definition, without Winograd's
 * transforms. keep_direct chooses the set (convlab_ext/direct.py).
 */
#pragma once

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>

#include "level.h"
#include "operators.h"

#define KERNEL_HERE __attribute__((weak, visibility("hidden")))

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

/* Returns the kernel of a build for one processor, or the wheel's best for this one. */
template <typename Function> Function *best(Function *only, Function *v3, Function *v4)
{
    const int level = level_here();
    if (only) return only;
    return level == 4 ? v4 : level == 3 ? v3 : nullptr;
}

/* True if the direct kernels are used: one flag for all threads of a library. */
__attribute__((visibility("hidden"))) inline std::atomic<bool> direct_is_on{false};

template <typename Function> struct kernels_t {
    const char *name;  // conv2d_forward
    Function *cpu_f32, *cpu_f64, *direct_f32, *direct_f64;
    Function *cuda_f16, *cuda_f32, *cuda_f64;

    /* The kernel; NULL if this build has none. */
    Function *find(device_t device, dtype_t dtype) const
    {
        Function *found = nullptr;
        const bool direct = direct_is_on.load(std::memory_order_relaxed);
        if (device == DEVICE_CPU && dtype == DTYPE_F32)
            found = direct && direct_f32 ? direct_f32 : cpu_f32;
        if (device == DEVICE_CPU && dtype == DTYPE_F64)
            found = direct && direct_f64 ? direct_f64 : cpu_f64;
        if (device == DEVICE_CUDA && dtype == DTYPE_F16) found = cuda_f16;
        if (device == DEVICE_CUDA && dtype == DTYPE_F32) found = cuda_f32;
        if (device == DEVICE_CUDA && dtype == DTYPE_F64) found = cuda_f64;
        return found;
    }

    Function *of(device_t device, dtype_t dtype) const
    {
        if (Function *found = find(device, dtype)) return found;
        std::string others;
        for (const dtype_t other : {DTYPE_F16, DTYPE_F32, DTYPE_F64})
            if (find(device, other))
                others += (others.empty() ? ", only for " : ", ") +
                          std::string(name_of(other));
        throw std::runtime_error(std::string(name) + ": this build has no kernel for " +
                                 name_of(dtype) + " on " + name_of(device) + others);
    }
};

/* Turns the direct kernels on or off; nullopt changes nothing. Returns the previous
 * setting. */
template <typename Forward, typename Backward>
bool keep_direct(std::optional<bool> on, const kernels_t<Forward> &forward,
                 const kernels_t<Backward> &backward)
{
    if (!on) return direct_is_on;
    if (*on && !(forward.direct_f32 && backward.direct_f32))
        throw std::runtime_error(
            std::string(forward.name) +
            ": this build has no second set of kernels. Name their rung in lab.toml, "
            "kernels.direct, and build again: make build LAB=05");
    return direct_is_on.exchange(*on);
}

#define DECLARED(type, kernel) KERNEL_HERE type kernel, kernel##_v3, kernel##_v4
#define BEST(kernel)           best(kernel, kernel##_v3, kernel##_v4)

#define KERNELS(name)                                                                  \
    extern "C" {                                                                       \
    DECLARED(name##_fn, name##_cpu_f32);                                               \
    DECLARED(name##_fn, name##_cpu_f64);                                               \
    DECLARED(name##_fn, name##_direct_f32);                                            \
    DECLARED(name##_fn, name##_direct_f64);                                            \
    KERNEL_HERE name##_fn name##_cuda_f16, name##_cuda_f32, name##_cuda_f64;           \
    }                                                                                  \
    static const kernels_t<name##_fn> name##_kernels = {#name,                         \
                                                        BEST(name##_cpu_f32),          \
                                                        BEST(name##_cpu_f64),          \
                                                        BEST(name##_direct_f32),       \
                                                        BEST(name##_direct_f64),       \
                                                        name##_cuda_f16,               \
                                                        name##_cuda_f32,               \
                                                        name##_cuda_f64}
