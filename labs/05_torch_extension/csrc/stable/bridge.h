// SPDX-License-Identifier: MIT
/* bridge.h - from PyTorch's stable ABI to convlab's contract, and back
 *
 * The stable ABI consists of C functions that PyTorch does not change, and thin C++
 * classes (torch/csrc/stable, torch/headeronly). So one binary runs on many versions.
 *
 *     Tensor output = empty_like(input, {N, OC, OH, OW});
 *     run(input, conv2d_forward_check, conv2d_forward_kernels, input, weight, bias, p,
 *         output);
 *
 * `run` (../run.h) makes tensor_t views of the tensors, and checks the arguments. It
 * sets the device, and takes the stream and the threads that PyTorch uses now. Then it
 * calls the kernel of this device and dtype. An error becomes a C++ exception with the
 * message in ctx->error. Python sees the exception as a RuntimeError.
 */
#pragma once

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <vector>

#include "operators.h"

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using Ints = std::vector<int64_t>;  // the C++ type of int[] in a schema

inline void must_be_there(const Tensor &tensor);  // calls.h
inline void must_have_few_axes(size_t ndim);      // calls.h

/* Returns a new contiguous tensor of these sizes on the device of `like`. The dtype is
 * `like`'s, or `dtype`, such as aoti_torch_dtype_int64(). */
inline Tensor empty_like(const Tensor &like, const Ints &sizes, int32_t dtype = -1)
{
    must_have_few_axes(sizes.size());
    int64_t strides[TENSOR_MAX_DIMS] = {}, stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= sizes[d] > 1 ? sizes[d] : 1;
    }
    must_be_there(like);
    int32_t device = 0;
    if (dtype < 0) TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(like.get(), &dtype));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device));
    AtenTensorHandle made = nullptr;
    if (aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(),
                                 strides, dtype, device, like.get_device_index(),
                                 &made)) {
        std::string text;
        for (const int64_t size : sizes)
            text += (text.empty() ? "" : ", ") + std::to_string(size);
        throw std::runtime_error(
            "cannot make a result of sizes (" + text +
            "): it is too large for the memory, or a size is negative");
    }
    return Tensor(made);
}

/* Returns a new gradient, or nullopt (NULL for the kernel) if the mask is false. */
inline std::optional<Tensor> wanted(const std::vector<bool> &output_mask, size_t which,
                                    const Tensor &like, const Ints &sizes)
{
    if (which >= output_mask.size())
        throw std::runtime_error("'output_mask' has " +
                                 std::to_string(output_mask.size()) +
                                 " flags, expected one for each gradient");
    if (!output_mask[which]) return std::nullopt;
    return empty_like(like, sizes);
}

/* The device, stream and threads of a call. Sets the device of tensor `where`. */
class __attribute__((visibility("hidden"))) Place
{
  public:
    Place(const Tensor &where, ctx_t *ctx) : where_(where)
    {
        ctx->threads = 1;
        if (where.is_cuda()) {
            const int32_t index = where.get_device_index();
            guard_.emplace(index);
            ctx->device = DEVICE_CUDA;
            void *stream = nullptr;
#ifdef CONVLAB_CUDA
            TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(index, &stream));
#endif
            ctx->stream = static_cast<CUstream_st *>(stream);
        } else {
            uint32_t threads = 1;
            TORCH_ERROR_CODE_CHECK(torch_get_num_threads(&threads));
            ctx->threads = static_cast<int32_t>(threads);
        }
    }

    /* Returns a tensor of `bytes` bytes on the device of the call. */
    Tensor memory(size_t bytes) const
    {
        const int64_t size[1] = {static_cast<int64_t>(bytes)}, stride[1] = {1};
        int32_t device = 0;
        AtenTensorHandle made = nullptr;
        TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(where_.get(), &device));
        TORCH_ERROR_CODE_CHECK(
            aoti_torch_empty_strided(1, size, stride, aoti_torch_dtype_uint8(), device,
                                     where_.get_device_index(), &made));
        return Tensor(made);
    }

  private:
    const Tensor &where_;
    std::optional<torch::stable::accelerator::DeviceGuard> guard_;
};

/* Calls f(begin, end) for parts of [0, COUNT) of at least `grain` units, in PyTorch's
 * threads. f throws nothing. */
template <typename F> void parallel(int64_t COUNT, int64_t grain, const F &f)
{
    const auto part = [](int64_t begin, int64_t end, void *f) {
        (*static_cast<const F *>(f))(begin, end);
    };
    TORCH_ERROR_CODE_CHECK(
        torch_parallel_for(0, COUNT, grain, part, const_cast<F *>(&f)));
}

#include "../run.h"
