// SPDX-License-Identifier: MIT
/* copies.cpp - cudaMalloc, cudaFree, cudaMemcpy and cudaMemset, with their errors */
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "errors.h"
#include "findings.h"
#include "limits.h"
#include "memory.h"
#include "schedule.h"
#include "streams.h"

using namespace cusim;

/* Device memory is open while one of these lives. */
struct Opened {
    Opened()
    {
        device_open();
    }
    ~Opened()
    {
        device_close();
    }
};

/* ---- allocation ------------------------------------------------------------------ */

static cudaError_t allocate(void **pointer, size_t bytes, bool managed, Where where)
{
    const Opened opened;
    if (status() != cudaSuccess) return status();
    if (!pointer) return fail(cudaErrorInvalidValue);
    if (managed && host_is_limited()) {
        found(Level::error, "managed",
              "cudaMallocManaged: the host reads managed memory without a copy; take "
              "device memory from ctx_scratch",
              {{"called", where}});
    }
    *pointer = bytes ? device_allocate(bytes, managed, where) : nullptr;
    if (managed && *pointer) trace_fill(*pointer, bytes);  // the host writes unseen
    return *pointer || !bytes ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaMalloc(void **pointer, size_t bytes, Where where)
{
    return allocate(pointer, bytes, false, where);
}

cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned, Where where)
{
    return allocate(pointer, bytes, true, where);
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream,
                            Where where)
{
    if (!stream_exists(stream, "cudaMallocAsync", where)) {
        return cudaErrorInvalidResourceHandle;
    }
    return allocate(pointer, bytes, false, where);
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height,
                            Where where)
{
    *pitch = (width + 511) / 512 * 512;
    return allocate(pointer, *pitch * height, false, where);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes, unsigned)
{
    *pointer = malloc(bytes ? bytes : 1);
    return *pointer ? status() : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    return cudaMallocHost(pointer, bytes, flags);
}

cudaError_t cudaFreeHost(void *pointer)
{
    if (is_device(pointer)) return fail(cudaErrorInvalidValue);
    free(pointer);
    return status();
}

cudaError_t cudaFree(void *pointer, Where where)
{
    const Opened opened;
    if (!pointer) return status();
    if (device_free(pointer, where)) return status();
    const Allocation *const allocation = allocation_at(pointer);
    const bool twice = allocation && allocation->base == pointer;
    const char *const what = twice        ? "this memory was freed before"
                             : allocation ? "this is not the beginning of an allocation"
                                          : "this pointer did not come from cudaMalloc";
    Place places[2] = {{"freed", where}, {}};
    if (twice) places[1] = {"freed first", allocation->freed};
    found(Level::error, twice ? "double_free" : "bad_free",
          text("cudaFree: %s; free each pointer of cudaMalloc once", what), places,
          twice ? 2 : 1);
    return fail(cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream, Where where)
{
    if (!stream_exists(stream, "cudaFreeAsync", where)) {
        return cudaErrorInvalidResourceHandle;
    }
    return cudaFree(pointer, where);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    device_memory_total(free, total);
    return status();
}

/* ---- symbols --------------------------------------------------------------------- */

static std::map<const char *, size_t> &symbols()
{
    static auto *const known = new std::map<const char *, size_t>;
    return *known;
}

namespace cusim
{

void put(void *to, const void *from, size_t bytes)
{
    const Opened opened;
    memcpy(to, from, bytes);
    trace_fill(to, bytes);
}

void remember_symbol(const void *symbol, size_t bytes)
{
    symbols()[(const char *)symbol] = bytes;
}

}  // namespace cusim

/* Whether an address is within a symbol whose address was asked for. */
static bool is_symbol(const void *address)
{
    auto after = symbols().upper_bound((const char *)address);
    if (after == symbols().begin()) return false;
    --after;
    return (const char *)address < after->first + after->second;
}

/* An error if memory that is only read would be written to. */
static bool may_write(const void *to, const char *call, Where where)
{
    if (!is_read_only(to)) return true;
    found(Level::error, "read_only",
          text("%s writes %s, which is read-only", call, describe(to).c_str()),
          {{"called", where}});
    return false;
}

/* ---- copies ---------------------------------------------------------------------- */

static bool side_fits(const void *pointer, size_t bytes, bool wants_device,
                      const char *side, const char *call, Where where)
{
    if (is_symbol(pointer)) return true;
    if (is_device(pointer) != wants_device) {
        const Allocation *const allocation = allocation_at(pointer);
        if (allocation && allocation->managed) return true;
        found(Level::error, "memcpy_direction",
              text("%s: the %s is %s memory, but the direction says %s; check the "
                   "order of "
                   "the pointers and the cudaMemcpyKind",
                   call, side, wants_device ? "host" : "device",
                   wants_device ? "device" : "host"),
              {{"called", where}});
        return false;
    }
    if (!wants_device || within_allocation(pointer, bytes)) return true;
    const char *const last = (const char *)pointer + bytes - 1;
    const Allocation *const allocation = allocation_at(pointer);
    const bool freed = allocation && !allocation->alive;
    found(Level::error, freed ? "use_after_free" : "out_of_bounds",
          text("%s: the last of %zu bytes of the %s lies %s", call, bytes, side,
               describe(last).c_str()),
          {{"called", where}});
    return false;
}

static bool copy_fits(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                      const char *call, Where where)
{
    bool to_device = is_device(to) || is_symbol(to);
    bool from_device = is_device(from) || is_symbol(from);
    if (kind != cudaMemcpyDefault) {
        to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
        from_device =
            kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    }
    return side_fits(to, bytes, to_device, "destination", call, where) &&
           may_write(to, call, where) &&
           side_fits(from, bytes, from_device, "source", call, where);
}

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                        const char *call, Where where)
{
    const Opened opened;
    if (status() != cudaSuccess) return status();
    if (!bytes) return cudaSuccess;
    if (!to || !from || !copy_fits(to, from, bytes, kind, call, where)) {
        return fail(cudaErrorInvalidValue);
    }
    const bool from_device = is_device(from) || is_symbol(from);
    if (from_device && !is_device(to) && !is_symbol(to)) {
        count_read_back(bytes, call, where);
    } else if (!is_device(from)) {  // a symbol may be the host's own array
        count_sent(bytes, call, where);
    }
    memmove(to, from, bytes);
    if (is_device(to)) trace_fill(to, bytes);
    if (is_symbol(to) && from_device) trace_variable(to, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                       Where where)
{
    only_given_stream("cudaMemcpy", where);
    return copy(to, from, bytes, kind, "cudaMemcpy", where);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream, Where where)
{
    if (!stream_exists(stream, "cudaMemcpyAsync", where)) {
        return cudaErrorInvalidResourceHandle;
    }
    return copy(to, from, bytes, kind, "cudaMemcpyAsync", where);
}

static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from,
                             size_t from_pitch, size_t width, size_t height,
                             cudaMemcpyKind kind, const char *call, Where where)
{
    if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidPitchValue);
    cudaError_t error = status();
    for (size_t row = 0; row < height && error == cudaSuccess; row++) {
        error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch,
                     width, kind, call, where);
    }
    return error;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind, Where where)
{
    const char *const call = "cudaMemcpy2D";
    only_given_stream(call, where);
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, call, where);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream, Where where)
{
    const char *const call = "cudaMemcpy2DAsync";
    if (!stream_exists(stream, call, where)) return cudaErrorInvalidResourceHandle;
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, call, where);
}

static cudaError_t set(void *to, int value, size_t bytes, Where where)
{
    const Opened opened;
    if (status() != cudaSuccess) return status();
    if (!bytes) return cudaSuccess;
    if (!to || !side_fits(to, bytes, true, "destination", "cudaMemset", where) ||
        !may_write(to, "cudaMemset", where)) {
        return fail(cudaErrorInvalidValue);
    }
    count_sent(1, "cudaMemset", where);
    memset(to, value, bytes);
    trace_fill(to, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes, Where where)
{
    only_given_stream("cudaMemset", where);
    return set(to, value, bytes, where);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream,
                            Where where)
{
    if (!stream_exists(stream, "cudaMemsetAsync", where)) {
        return cudaErrorInvalidResourceHandle;
    }
    return set(to, value, bytes, where);
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height,
                         Where where)
{
    cudaError_t error = width > pitch ? fail(cudaErrorInvalidPitchValue) : status();
    for (size_t row = 0; row < height && error == cudaSuccess; row++) {
        error = cudaMemset((char *)to + row * pitch, value, width, where);
    }
    return error;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes,
                                     const void *pointer)
{
    const Allocation *const allocation = allocation_at(pointer);
    *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, (void *)pointer};
    if (allocation && within_allocation(pointer, 1)) {
        attributes->type =
            allocation->managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
        attributes->devicePointer = (void *)pointer;
        if (!allocation->managed) attributes->hostPointer = nullptr;
    }
    return status();
}

namespace cusim
{

static cudaError_t symbol_error(size_t room, size_t bytes, size_t offset,
                                const char *call, Where where)
{
    if (offset <= room && bytes <= room - offset) return cudaSuccess;
    found(
        Level::error, "out_of_bounds",
        text("%s: %zu bytes after the first %zu do not fit the %zu bytes of the symbol",
             call, bytes, offset, room),
        {{"called", where}});
    return fail(cudaErrorInvalidValue);
}

cudaError_t copy_to_symbol(void *symbol, size_t room, const void *from, size_t bytes,
                           size_t offset, cudaMemcpyKind kind, cudaStream_t stream,
                           Where where)
{
    const char *const call = "cudaMemcpyToSymbol";
    if (!stream_exists(stream, call, where)) return cudaErrorInvalidResourceHandle;
    if (symbol_error(room, bytes, offset, call, where)) return cudaErrorInvalidValue;
    remember_symbol(symbol, room);
    return copy((char *)symbol + offset, from, bytes, kind, call, where);
}

cudaError_t copy_from_symbol(void *to, const void *symbol, size_t room, size_t bytes,
                             size_t offset, cudaMemcpyKind kind, cudaStream_t stream,
                             Where where)
{
    const char *const call = "cudaMemcpyFromSymbol";
    if (!stream_exists(stream, call, where)) return cudaErrorInvalidResourceHandle;
    if (symbol_error(room, bytes, offset, call, where)) return cudaErrorInvalidValue;
    remember_symbol(symbol, room);
    return copy(to, (const char *)symbol + offset, bytes, kind, call, where);
}

}  // namespace cusim
