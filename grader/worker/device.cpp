// SPDX-License-Identifier: MIT
#include "device.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

/* What cusim offers beyond CUDA's API; on a card there is none of it. */
extern "C" {
// every line of the report goes to a function instead of a file
__attribute__((weak)) void cusim_report_to(void (*take)(const char *line,
                                                        size_t bytes));
// the operator has returned: a launch that nobody asked about; memory nobody freed
__attribute__((weak)) void cusim_operator_end(void);
__attribute__((weak)) void cusim_report_leaks(void);
}

namespace
{

/* cudaMalloc. cusim's sentences name the line of an allocation: ours are tensors. */
cudaError_t allocate(void **block, size_t bytes, const char *what, int number)
{
#ifdef __CUSIM__
    return cudaMalloc(block, bytes, ::cusim::Where{what, number});
#else
    (void)what, (void)number;
    return cudaMalloc(block, bytes);
#endif
}

constexpr size_t VECTOR = 16;  // bytes of the widest load: addresses keep their rest
constexpr size_t SCRATCH_ROOM = (size_t)1536 << 20;

struct Moved {
    char *block;  // NULL: the tensor is absent or empty
    char *slot;   // where block's bytes come from
    size_t bytes, front;
};

Moved moved[MAX_TENSORS];
std::vector<void *> scratch;
size_t scratch_bytes;
cudaStream_t stream;
reply_t *report;
size_t reported;

void take_line(const char *line, size_t bytes)
{
    if (reported + bytes + 2 > REPORT_BYTES) {
        report->report_cut = 1;
        return;
    }
    memcpy(report->report + reported, line, bytes);
    reported += bytes;
    report->report[reported++] = '\n';
    report->report[reported] = 0;
}

int refuse(ctx_t *ctx, const char *doing, cudaError_t error)
{
    snprintf(ctx->error, CTX_ERROR_BYTES, "%s: %s", doing, cudaGetErrorString(error));
    return REPLY_DEVICE;
}

/* Wait for the call's kernels. A failure of theirs is the call's. */
int settle(ctx_t *ctx, int status)
{
    if (cusim_operator_end) cusim_operator_end();
    const cudaError_t error = cudaDeviceSynchronize();
    if (error == cudaSuccess) return status;
    if (status == STATUS_OK || !ctx->error[0]) {
        snprintf(ctx->error, CTX_ERROR_BYTES, "a kernel failed: '%s' (%s)",
                 cudaGetErrorString(error), cudaGetErrorName(error));
    }
    return STATUS_CUDA_ERROR;
}

/* The first byte of an input that is not what it was, or -1. */
int64_t first_change(const Moved &at)
{
    std::vector<char> now(at.bytes);
    if (cudaMemcpy(now.data(), at.block, at.bytes, cudaMemcpyDeviceToHost)) return -1;
    if (memcmp(now.data(), at.slot, at.bytes) == 0) return -1;
    size_t byte = 0;
    while (now[byte] == at.slot[byte]) byte++;
    return (int64_t)byte - (int64_t)at.front;
}

/* Outputs to their slots; REPLY_WROTE_INPUT if an input came back changed. */
int copy_back(ctx_t *ctx, int status)
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        const Moved &at = moved[i];
        if (!at.block) continue;
        if (i >= SIDE_TENSORS) {
            const cudaError_t error =
                cudaMemcpy(at.slot, at.block, at.bytes, cudaMemcpyDeviceToHost);
            if (error) return refuse(ctx, "outputs cannot be copied back", error);
        } else if (const int64_t byte = first_change(at); byte != -1) {
            snprintf(ctx->error, CTX_ERROR_BYTES, "%d %lld", i, (long long)byte);
            return REPLY_WROTE_INPUT;
        }
    }
    return status;
}

void free_all()
{
    for (Moved &at : moved) {
        if (at.block) cudaFree(at.block);
        at = {};
    }
    for (void *block : scratch) cudaFree(block);
    scratch.clear();
    scratch_bytes = 0;
}

}  // namespace

void device_start(reply_t *reply)
{
    report = reply;
    if (cusim_report_to) cusim_report_to(take_line);
    void *block = nullptr;
    if (cudaMalloc(&block, 1) || cudaFree(block) || cudaStreamCreate(&stream)) {
        fprintf(stderr, "worker: no device: %s\n",
                cudaGetErrorString(cudaGetLastError()));
        _Exit(3);
    }
}

void device_begin(const link_t *link)
{
    reported = 0;
    report->report[0] = 0;
    report->report_cut = 0;
    char order[32] = "forward";  // read by cusim at each launch
    const int run = link->command->run;
    if (run & RUN_REVERSE) snprintf(order, sizeof order, "reverse");
    if (run & RUN_RANDOM)
        snprintf(order, sizeof order, "random:%d", run >> RUN_SEED_SHIFT);
    setenv("CUSIM_ORDER", order, 1);
}

void device_context(ctx_t *ctx)
{
    ctx->device = DEVICE_CUDA;
    ctx->stream = stream;
}

int device_enter(const link_t *link, ctx_t *ctx, tensor_t tensor[MAX_TENSORS],
                 tensor_t *const pointer[MAX_TENSORS])
{
    for (int i = 0; i < MAX_TENSORS; i++) {
        moved[i] = {};
        if (!pointer[i]) continue;
        tensor[i].device = DEVICE_CUDA;
        if (!tensor[i].data) continue;
        const wire_tensor_t *wire = &link->command->tensor[i];
        Moved &at = moved[i];
        at.front = (uintptr_t)tensor[i].data % VECTOR;
        at.bytes = at.front + (size_t)wire->extent;
        at.slot = (char *)tensor[i].data - at.front;
        void *block = nullptr;
        cudaError_t error = allocate(&block, at.bytes, "tensor", i);
        if (!error)
            error = cudaMemcpy(block, at.slot, at.bytes, cudaMemcpyHostToDevice);
        if (error) return refuse(ctx, "a tensor cannot be moved to the device", error);
        at.block = (char *)block;
        tensor[i].data = at.block + at.front;
    }
    return STATUS_OK;
}

void *device_scratch(ctx_t *ctx, size_t bytes)
{
    if (bytes > SCRATCH_ROOM - scratch_bytes) return nullptr;
    void *block = nullptr;
    if (allocate(&block, bytes, "scratch", (int)scratch.size())) return nullptr;
    scratch.push_back(block);
    scratch_bytes += bytes;
    const dtype_t dtype = (dtype_t) * (const int32_t *)ctx->scratch_state;
    const uint64_t bits = poison_bits(dtype, TAG_SCRATCH);
    const size_t element = dtype_bytes(dtype);
    std::vector<char> poison(bytes);
    for (size_t at = 0; at + element <= bytes; at += element) {
        memcpy(poison.data() + at, &bits, element);
    }
    cudaMemcpy(block, poison.data(), bytes, cudaMemcpyHostToDevice);
    return block;
}

int device_leave(const link_t *link, ctx_t *ctx, int status)
{
    (void)link;
    status = settle(ctx, status);
    if (status == STATUS_OK) status = copy_back(ctx, status);
    free_all();
    if (cusim_report_leaks) cusim_report_leaks();
    return status;
}

#ifdef DEVICE_SANITIZED
/* Addresses stay numbers: whoever reads the report looks up the lines. */
extern "C" const char *__asan_default_options()
{
    return "detect_leaks=0:symbolize=0:exitcode=99:print_legend=0:"
           "allocator_may_return_null=1:max_allocation_size_mb=1536:"
           "detect_stack_use_after_return=0";
}

extern "C" const char *__ubsan_default_options()
{
    return "print_stacktrace=1:symbolize=0:exitcode=99:halt_on_error=1";
}
#endif
