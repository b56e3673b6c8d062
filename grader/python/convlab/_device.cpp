// SPDX-License-Identifier: MIT
/* _device - calls a CUDA rung with tensors of the CPU
 *
 * Every tensor is copied into device memory, with all bytes between its elements.
 * Outputs are copied back. With cusim, device memory is memory of the same machine, and
 * no GPU is needed. _native.py loads this beside the rung. Both are linked with the
 * same libcusim.so.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <mutex>
#include <vector>

extern "C" {
#include "calls.h"
}

namespace
{

/* What a call takes from the device; given back at its end. */
struct Blocks {
    std::vector<void *> taken;

    ~Blocks()
    {
        for (void *block : taken) cudaFree(block);
    }

    void *take(size_t bytes)
    {
        void *block = nullptr;
        if (cudaMalloc(&block, bytes) != cudaSuccess) return nullptr;
        taken.push_back(block);
        return block;
    }
};

void *scratch(ctx_t *ctx, size_t bytes)
{
    return static_cast<Blocks *>(ctx->scratch_state)->take(bytes);
}

/* From the first element to the end of the last. */
size_t extent(const tensor_t &t)
{
    if (tensor_numel(&t) == 0) return 0;
    int64_t last = 0;
    for (int32_t d = 0; d < t.ndim; d++) last += (t.size[d] - 1) * t.stride[d];
    return (size_t)(last + 1) * dtype_bytes(t.dtype);
}

/* The tensors of one side of a call, in device memory. */
struct Side {
    std::vector<tensor_t> tensor;
    std::vector<tensor_t *> pointer;
    bool whole = true;  // there was memory for all of it

    Side(Blocks &blocks, tensor_t *const given[], int count) : tensor((size_t)count)
    {
        for (int i = 0; i < count; i++) {
            pointer.push_back(given[i] ? &tensor[(size_t)i] : nullptr);
            if (!given[i]) continue;
            tensor_t &moved = tensor[(size_t)i] = *given[i];
            moved.device = DEVICE_CUDA;
            const size_t bytes = extent(moved);
            moved.data = bytes ? blocks.take(bytes) : nullptr;
            if (bytes && !moved.data) whole = false;
            if (moved.data) {
                cudaMemcpy(moved.data, given[i]->data, bytes, cudaMemcpyHostToDevice);
            }
        }
    }
};

std::mutex one_at_a_time;  // cusim runs in one thread; autograd has several

}  // namespace

/* As binding.call calls `run`, with the number of tensors on each side. */
extern "C" status_t on_device(call_fn run, void *function, ctx_t *ctx,
                              tensor_t *const in[], int ins, tensor_t *const out[],
                              int outs, const void *options)
{
    const std::lock_guard<std::mutex> turn(one_at_a_time);
    Blocks blocks;
    const Side moved_in(blocks, in, ins), moved_out(blocks, out, outs);
    if (!moved_in.whole || !moved_out.whole) return STATUS_NO_MEMORY;
    ctx->device = DEVICE_CUDA;
    ctx->scratch = scratch;
    ctx->scratch_state = &blocks;
    status_t status =
        run(function, ctx, moved_in.pointer.data(), moved_out.pointer.data(), options);
    const cudaError_t error = cudaDeviceSynchronize();
    if (status == STATUS_OK && error != cudaSuccess) {
        snprintf(ctx->error, CTX_ERROR_BYTES, "a kernel failed: '%s'",
                 cudaGetErrorString(error));
        status = STATUS_CUDA_ERROR;
    }
    for (int i = 0; status == STATUS_OK && i < outs; i++) {
        const tensor_t &moved = moved_out.tensor[(size_t)i];
        if (out[i] && moved.data) {
            cudaMemcpy(out[i]->data, moved.data, extent(moved), cudaMemcpyDeviceToHost);
        }
    }
    return status;
}
