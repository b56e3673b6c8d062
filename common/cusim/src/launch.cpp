// SPDX-License-Identifier: MIT
/* launch.cpp - checks a launch before its first thread runs */
#include <cinttypes>
#include <map>

#include "errors.h"
#include "findings.h"
#include "limits.h"
#include "memory.h"
#include "schedule.h"
#include "streams.h"

namespace cusim
{

/* Dynamic shared memory that kernels asked for with cudaFuncSetAttribute. */
static std::map<const void *, size_t> &opted_in()
{
    static auto *const limits = new std::map<const void *, size_t>;
    return *limits;
}

cudaError_t set_dynamic_shared(const void *kernel, int bytes, Where where)
{
    if (bytes < 0 || (size_t)bytes > SHARED_LIMIT) {
        found(Level::error, "bad_launch",
              text("a kernel is to have %d bytes of dynamic shared memory. A block can "
                   "have %zu (compute capability 9.0; 163840 on 8.0)",
                   bytes, (size_t)SHARED_LIMIT),
              {{"asked", where}});
        return fail(cudaErrorInvalidValue);
    }
    opted_in()[kernel] = (size_t)bytes;
    return status();
}

cudaError_t function_attributes(cudaFuncAttributes *attributes, const void *kernel)
{
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    const auto limit = opted_in().find(kernel);
    attributes->maxDynamicSharedSizeBytes =
        (int)(limit == opted_in().end() ? STATIC_SHARED_LIMIT : limit->second);
    return status();
}

cudaError_t blocks_per_multiprocessor(int *blocks, int threads, size_t shared)
{
    if (threads < 1 || threads > 1024) return fail(cudaErrorInvalidValue);
    // by threads and shared memory alone: registers are not known here
    const size_t by_shared = shared ? (SHARED_LIMIT + 1024) / (shared + 1024) : 32;
    const size_t by_threads = (size_t)(2048 / ((threads + 31) / 32 * 32));
    *blocks = (int)(by_shared < by_threads ? by_shared : by_threads);
    return status();
}

/* Why this launch would fail on a card, or "". */
static std::string wrong_launch(const Config &config, const void *kernel)
{
    const dim3 g = config.grid, b = config.block;
    const uint64_t threads = (uint64_t)b.x * b.y * b.z;
    if (threads > 1024) {
        return text("a block of %u x %u x %u has %" PRIu64
                    " threads, the limit is 1024",
                    b.x, b.y, b.z, threads);
    }
    if (!threads || b.z > 64) {
        return text(
            "a block of %u x %u x %u: every size must be at least 1, and z at most "
            "64",
            b.x, b.y, b.z);
    }
    if (!g.x || !g.y || !g.z) {
        return text(
            "a grid of %u x %u x %u has no blocks; if there is nothing to do, return "
            "before the launch",
            g.x, g.y, g.z);
    }
    if (g.x > 0x7fffffff || g.y > 65535 || g.z > 65535) {
        return text("a grid of %u x %u x %u: x may be 2^31 - 1, y and z at most 65535",
                    g.x, g.y, g.z);
    }
    const auto limit = opted_in().find(kernel);
    const size_t room =
        limit == opted_in().end() ? (size_t)STATIC_SHARED_LIMIT : limit->second;
    if (config.shared > SHARED_LIMIT) {
        return text("%zu bytes of dynamic shared memory, a block can have %zu",
                    config.shared, (size_t)SHARED_LIMIT);
    }
    if (kernel && config.shared > room) {
        return text(
            "%zu bytes of dynamic shared memory, the kernel may have %zu; ask for "
            "more with cudaFuncSetAttribute(kernel, "
            "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
            config.shared, room);
    }
    return "";
}

/* The arguments of the launch that runs. */
static const Handed *handed_over;

bool is_argument(const volatile void *address)
{
    for (const Handed *one = handed_over; one && one->at; one++) {
        if ((uintptr_t)address - (uintptr_t)one->at < one->bytes) return true;
    }
    return false;
}

void run(const Config &config, const char *name, const void *kernel, Where where,
         void (*body)(const void *), const void *argument, const Handed *handed)
{
    if (in_kernel()) trap("a kernel cannot launch a kernel here", where);
    note_launch(where);
    if (status() != cudaSuccess) return;
    const std::string wrong = wrong_launch(config, kernel);
    if (!wrong.empty()) {
        found(Level::error, "bad_launch", text("%s: %s", name, wrong.c_str()),
              {{"launched", where}});
        fail(cudaErrorInvalidConfiguration);
        return;
    }
    if (!stream_exists(config.stream, "a launch", where)) return;
    const dim3 g = config.grid, b = config.block;
    count_launched(handed, (size_t)g.x * g.y * g.z * b.x * b.y * b.z, where);
    device_open();
    handed_over = handed;
    trace_launch(name, config, where);
    const bool good = run_grid(config, body, argument);
    trace_launch_end();
    handed_over = nullptr;
    device_close();
    if (!good) fail_for_ever(cudaErrorLaunchFailure);
}

}  // namespace cusim
