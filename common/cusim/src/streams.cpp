// SPDX-License-Identifier: MIT
#include "streams.h"

#include <chrono>
#include <set>

#include "errors.h"
#include "findings.h"
#include "limits.h"

struct CUstream_st {
    bool destroyed;
};

struct CUevent_st {
    double milliseconds;
    bool recorded;
};

namespace cusim
{

static std::set<cudaStream_t> &streams()
{
    static auto *const known = new std::set<cudaStream_t>;
    return *known;
}

void only_given_stream(const char *what, Where where)
{
    if (!host_is_limited()) return;
    found(
        Level::error, "default_stream",
        text("%s uses CUDA's default stream, but everything else that uses the tensors "
             "is ordered by the call's stream. Pass ctx->stream to this call, or to "
             "its Async form",
             what),
        {{"used", where}});
}

bool stream_exists(cudaStream_t stream, const char *what, Where where)
{
    if ((uintptr_t)stream <= 2) {
        only_given_stream(what, where);
        return true;
    }
    if (streams().count(stream) && !stream->destroyed) return true;
    found(Level::error, "bad_stream",
          text("%s is given a stream that %s; create it with cudaStreamCreate, and "
               "destroy it after its last use",
               what, streams().count(stream) ? "was destroyed" : "was never made"),
          {{"used", where}});
    fail(cudaErrorInvalidResourceHandle);
    return false;
}

static double milliseconds_now()
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace cusim

using namespace cusim;

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = new CUstream_st{false};  // kept for ever: a used handle is not used again
    streams().insert(*stream);
    return status();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int)
{
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream, Where where)
{
    if (!stream_exists(stream, "cudaStreamDestroy", where) || (uintptr_t)stream <= 2) {
        return fail(cudaErrorInvalidResourceHandle);
    }
    stream->destroyed = true;
    return status();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream, Where where)
{
    if (!stream_exists(stream, "cudaStreamSynchronize", where)) {
        return cudaErrorInvalidResourceHandle;
    }
    return status();
}

cudaError_t cudaStreamQuery(cudaStream_t stream, Where where)
{
    return cudaStreamSynchronize(stream, where);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned,
                                Where where)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    return cudaStreamSynchronize(stream, where);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new CUevent_st{0, false};
    return status();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    delete event;
    return status();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream, Where where)
{
    if (!event || !stream_exists(stream, "cudaEventRecord", where)) {
        return fail(cudaErrorInvalidResourceHandle);
    }
    event->milliseconds = milliseconds_now();
    event->recorded = true;
    return status();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return event ? status() : fail(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                 cudaEvent_t stop)
{
    if (!start || !stop || !start->recorded || !stop->recorded) {
        return fail(cudaErrorInvalidResourceHandle);
    }
    *milliseconds = (float)(stop->milliseconds - start->milliseconds);
    return status();
}
