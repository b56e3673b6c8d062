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
// look for races, count accesses
__attribute__((weak)) void cusim_watch(int races, int counts);
// an input; limits while the operator runs; what it does not count; the operator has
// returned: a launch that nobody asked about, or with fewer threads; memory nobody
// freed; cudaMalloc has so many bytes
__attribute__((weak)) void cusim_read_only(void *base);
__attribute__((weak)) void cusim_operator_begin(void);
__attribute__((weak)) void cusim_put(void *to, const void *from, size_t bytes);
__attribute__((weak)) void cusim_operator_end(size_t least_threads, size_t elements);
__attribute__((weak)) void cusim_device_room(size_t bytes);
__attribute__((weak)) void cusim_report_leaks(void);
// hold.cu: the stream does nothing for so long; missing where there is no nvcc
__attribute__((weak)) cudaError_t device_hold(cudaStream_t stream,
                                              unsigned long long nanoseconds);
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
constexpr size_t DEVICE_ROOM = (size_t)4 << 30;  // tensors too
constexpr size_t A_THREAD = 1024;    // elements of an output, where it has LARGE ones
constexpr size_t LARGE = 4096;       // a row of layer_norm may be longer, so that more
constexpr size_t MOST_THREADS = 64;  // than so many threads are not asked for
// a card notices little, so that tensors have bytes around them which are looked at;
// cusim and compute-sanitizer (CONVLAB_EXACT) know where each allocation ends
constexpr size_t MOST_GUARD = 4096;
constexpr unsigned char FENCE = 0xb7;
size_t guard = ON_CARD ? MOST_GUARD : 0;

struct Block {
    char *base;    // what was allocated: guard, `bytes`, guard
    size_t bytes;  // of the tensor, or of what was asked for
    bool taken;    // of the pool: in use by this call

    char *data() const
    {
        return base + guard;
    }
};

struct Moved {
    Block block;
    char *slot;  // where block's bytes come from; NULL: the tensor is absent or empty
    size_t front;
};

Moved moved[MAX_TENSORS];
std::vector<Block> scratch;  // of this call
std::vector<Block> pool;  // RUN_TIMED: of all calls, so that no clock sees cudaMalloc
size_t scratch_bytes;
cudaStream_t stream;
reply_t *report;
bool timed;               // this command's calls are
char kept[REPORT_BYTES];  // the report once more, where a rung does not look for it
size_t reported;
bool cut;

/* At once to the page as well, for the process may die. */
void take_line(const char *line, size_t bytes)
{
    if (reported + bytes + 2 > REPORT_BYTES) {
        report->report_cut = cut = true;
        return;
    }
    memcpy(kept + reported, line, bytes);
    kept[reported + bytes] = '\n';
    memcpy(report->report + reported, kept + reported, bytes + 1);
    reported += bytes + 1;
    report->report[reported] = 0;
}

/* Room for so many bytes, with a fence on both sides. */
cudaError_t fenced(Block *block, size_t bytes, const char *what, int number)
{
    void *base = nullptr;
    cudaError_t error = allocate(&base, bytes + 2 * guard, what, number);
    if (!error && guard && cusim_put) {  // a stand-in for a card: no limit counts it
        const std::vector<unsigned char> fence(bytes + 2 * guard, FENCE);
        cusim_put(base, fence.data(), fence.size());
    } else if (!error && guard) {
        error = cudaMemset(base, FENCE, bytes + 2 * guard);
    }
    *block = {(char *)base, bytes, false};
    return error;
}

/* Whether a byte around a block is not as it was; `at`: how far from it the nearest one
 * lies, negative before it. */
bool broken(const Block &block, int64_t *at)
{
    static unsigned char around[2][MOST_GUARD];
    if (!guard) return false;
    if (cudaMemcpy(around[0], block.base, guard, cudaMemcpyDeviceToHost) ||
        cudaMemcpy(around[1], block.data() + block.bytes, guard,
                   cudaMemcpyDeviceToHost))
        return false;
    for (size_t i = 0; i < guard; i++) {
        const bool behind = around[1][i] != FENCE;
        *at = behind ? (int64_t)i : -1 - (int64_t)i;
        if (behind || around[0][guard - 1 - i] != FENCE) return true;
    }
    return false;
}

/* Whatever a rung has made of the page. */
void report_again()
{
    memcpy(report->report, kept, reported);
    report->report[reported] = 0;
    report->report_cut = cut;
}

int refuse(ctx_t *ctx, const char *doing, cudaError_t error)
{
    snprintf(ctx->error, CTX_ERROR_BYTES, "%s: %s", doing, cudaGetErrorString(error));
    return REPLY_DEVICE;
}

/* Elements of the largest output. */
size_t largest_output(const link_t *link)
{
    size_t most = 0;
    for (int i = SIDE_TENSORS; i < MAX_TENSORS; i++) {
        if (!moved[i].slot) continue;
        const wire_tensor_t *wire = &link->command->tensor[i];
        const size_t elements =
            (size_t)wire->extent / dtype_bytes((dtype_t)wire->dtype);
        if (elements > most) most = elements;
    }
    return most;
}

/* Wait for the call's kernels. A failure of theirs is the call's. */
int settle(const link_t *link, ctx_t *ctx, int status)
{
    const size_t elements = status == STATUS_OK ? largest_output(link) : 0;
    size_t least = elements < LARGE ? 0 : elements / A_THREAD;
    if (least > MOST_THREADS) least = MOST_THREADS;
    if (cusim_operator_end) cusim_operator_end(least, elements);
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
    const size_t bytes = at.block.bytes;
    std::vector<char> now(bytes);
    if (cudaMemcpy(now.data(), at.block.data(), bytes, cudaMemcpyDeviceToHost))
        return -1;
    if (memcmp(now.data(), at.slot, bytes) == 0) return -1;
    size_t byte = 0;
    while (now[byte] == at.slot[byte]) byte++;
    return (int64_t)byte - (int64_t)at.front;
}

/* Outputs to their slots; REPLY_WROTE_INPUT if an input came back changed. */
int copy_back(ctx_t *ctx, int status)
{
    int64_t at_byte = 0;
    for (int i = 0; i < MAX_TENSORS; i++) {
        const Moved &at = moved[i];
        if (!at.slot) continue;
        if (broken(at.block, &at_byte)) {
            snprintf(ctx->error, CTX_ERROR_BYTES, "%d %lld", i, (long long)at_byte);
            return REPLY_GUARD;
        }
        if (i >= SIDE_TENSORS) {
            const cudaError_t error = cudaMemcpy(
                at.slot, at.block.data(), at.block.bytes, cudaMemcpyDeviceToHost);
            if (error)
                return refuse(ctx, "the outputs cannot be copied back to the host",
                              error);
        } else if (const int64_t byte = first_change(at); byte != -1) {
            snprintf(ctx->error, CTX_ERROR_BYTES, "%d %lld", i, (long long)byte);
            return REPLY_WROTE_INPUT;
        }
    }
    for (const std::vector<Block> *blocks : {&scratch, &pool}) {
        for (const Block &block : *blocks) {
            if (broken(block, &at_byte)) return REPLY_SCRATCH;
        }
    }
    return status;
}

void free_all()
{
    for (Moved &at : moved) {
        if (at.slot) cudaFree(at.block.base);
        at = {};
    }
    for (const Block &block : scratch) cudaFree(block.base);
    scratch.clear();
    scratch_bytes = 0;
}

/* Scratch for the stopwatch: the smallest free block that is large enough, or one more.
 * A call that asks as the last one did gets the same blocks, and no clock sees an
 * allocation but that of the first call, which warms up. */
void *pooled(size_t bytes)
{
    Block *best = nullptr;
    for (Block &block : pool) {
        const bool fits = !block.taken && block.bytes >= bytes;
        if (fits && (!best || block.bytes < best->bytes)) best = &block;
    }
    if (!best) {
        Block made;
        if (fenced(&made, bytes, "scratch", (int)pool.size())) return nullptr;
        pool.push_back(made);
        best = &pool.back();
    }
    best->taken = true;
    return best->data();
}

/* ---- the clock ------------------------------------------------------------------- */

enum { FLUSHED = 4, MOST_REPEATS = 4096 };  // the L2 cache so many times over
/* A call's launches are in the queue after some 50 us, PyTorch's slowest after 200. */
enum { HELD_NS = 500 * 1000 };

struct Pair {
    cudaEvent_t start, stop;
};

std::vector<Pair> clocks;  // events of this command, and of those before
size_t ticking;            // of them in this command
void *flushed;             // what fills the cache instead of the tensors
size_t flushed_bytes;

/* What the driver takes at its first use, memory and files: before limits forbid it. */
cudaError_t warm_up()
{
    cudaDeviceProp card;
    cudaError_t error = cudaGetDeviceProperties(&card, 0);
    if (error) return error;
    flushed_bytes = FLUSHED * (size_t)card.l2CacheSize + VECTOR;
    if ((error = cudaMalloc(&flushed, flushed_bytes))) return error;
    const size_t staged = flushed_bytes < 1 << 20 ? flushed_bytes : 1 << 20;
    std::vector<char> host(staged);
    cudaMemcpy(flushed, host.data(), staged, cudaMemcpyHostToDevice);
    cudaMemcpy(host.data(), flushed, staged, cudaMemcpyDeviceToHost);
    cudaMemsetAsync(flushed, 0, flushed_bytes, stream);
    if (device_hold && (error = device_hold(stream, 0))) return error;
    return cudaDeviceSynchronize();
}

/* What the events of this command say, together. */
void read_clocks()
{
    for (size_t i = 0; i < ticking; i++) {
        float ms = 0;
        if (cudaEventElapsedTime(&ms, clocks[i].start, clocks[i].stop)) return;
        report->device_ns += (int64_t)(1e6 * (double)ms);
        report->device_calls++;
    }
    ticking = 0;
}

}  // namespace

void device_start(reply_t *reply)
{
    report = reply;
    if (getenv("CONVLAB_EXACT")) guard = 0;
    if (cusim_report_to) cusim_report_to(take_line);
    void *block = nullptr;
    if (cusim_device_room) cusim_device_room(DEVICE_ROOM);
    if (cudaMalloc(&block, 1) || cudaFree(block) || cudaStreamCreate(&stream)) {
        fprintf(stderr, "worker: no device: %s\n",
                cudaGetErrorString(cudaGetLastError()));
        _Exit(3);
    }
    if (!ON_CARD) return;
    if (const cudaError_t error = warm_up()) {
        fprintf(stderr, "worker: the GPU does not work: %s\n",
                cudaGetErrorString(error));
        _Exit(3);
    }
}

void device_begin(const link_t *link)
{
    reported = 0;
    report->report[0] = 0;
    report->report_cut = cut = false;
    report->device_ns = report->device_calls = 0;
    char order[32] = "forward";  // read by cusim at each launch
    const int run = link->command->run;
    timed = ON_CARD && run & RUN_TIMED;
    ticking = 0;
    if (run & RUN_REVERSE) snprintf(order, sizeof order, "reverse");
    if (run & RUN_RANDOM)
        snprintf(order, sizeof order, "random:%d", run >> RUN_SEED_SHIFT);
    setenv("CUSIM_ORDER", order, 1);
    if (cusim_watch) cusim_watch(!(run & RUN_COUNT), run & RUN_COUNT);
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
        const size_t bytes = at.front + (size_t)wire->extent;
        at.slot = (char *)tensor[i].data - at.front;
        cudaError_t error = fenced(&at.block, bytes, "tensor", i);
        if (!error)
            error = cudaMemcpy(at.block.data(), at.slot, bytes, cudaMemcpyHostToDevice);
        if (error) return refuse(ctx, "a tensor cannot be moved to the device", error);
        if (i < SIDE_TENSORS && cusim_read_only) cusim_read_only(at.block.base);
        tensor[i].data = at.block.data() + at.front;
    }
    if (cusim_operator_begin) cusim_operator_begin();
    return STATUS_OK;
}

void *device_scratch(ctx_t *ctx, size_t bytes)
{
    if (bytes > SCRATCH_ROOM - scratch_bytes) return nullptr;
    if (timed) return pooled(bytes);
    Block block;
    if (fenced(&block, bytes, "scratch", (int)scratch.size())) return nullptr;
    scratch.push_back(block);
    scratch_bytes += bytes;
    const dtype_t dtype = (dtype_t) * (const int32_t *)ctx->scratch_state;
    const uint64_t bits = poison_bits(dtype, TAG_SCRATCH);
    const size_t element = dtype_bytes(dtype);
    std::vector<char> poison(bytes);
    for (size_t at = 0; at + element <= bytes; at += element) {
        memcpy(poison.data() + at, &bits, element);
    }
    if (cusim_put) {
        cusim_put(block.data(), poison.data(), bytes);
    } else {
        cudaMemcpy(block.data(), poison.data(), bytes, cudaMemcpyHostToDevice);
    }
    return block.data();
}

int device_repeats(const link_t *link)
{
    const int run = link->command->run;
    const int asked = ON_CARD && run & RUN_TIMED ? run >> RUN_REPEAT_SHIFT : 0;
    return asked < 1 ? 1 : asked < MOST_REPEATS ? asked : MOST_REPEATS;
}

void device_clock_start(const link_t *link)
{
    (void)link;
    if (!timed) return;
    if (ticking == clocks.size()) {
        Pair made = {};
        if (cudaEventCreate(&made.start) || cudaEventCreate(&made.stop)) return;
        clocks.push_back(made);
    }
    // while the card is held, the launches behind it are put into its queue: the events
    // then hold no time in which it waited for the processor. Calls in a row are in the
    // queue by then; one hold cancels where the audit subtracts a short row from a long
    if (device_hold && ticking == 0) device_hold(stream, HELD_NS);
    cudaMemsetAsync(flushed, 0, flushed_bytes, stream);
    cudaEventRecord(clocks[ticking].start, stream);
}

void device_clock_stop(const link_t *link)
{
    (void)link;
    if (!timed || ticking == clocks.size()) return;
    cudaEventRecord(clocks[ticking++].stop, stream);
    for (Block &block : pool) block.taken = false;
}

int device_leave(const link_t *link, ctx_t *ctx, int status)
{
    status = settle(link, ctx, status);
    if (status == STATUS_OK) read_clocks();
    if (status == STATUS_OK) status = copy_back(ctx, status);
    free_all();
    if (cusim_report_leaks) cusim_report_leaks();
    report_again();
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
