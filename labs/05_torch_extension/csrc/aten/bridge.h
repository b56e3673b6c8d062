// SPDX-License-Identifier: MIT
/* bridge.h - from PyTorch's own C++ classes (ATen) to convlab's contract, and back
 *
 * Step (b): this header has the same names and the same `run` as ../stable/bridge.h,
 * but uses ATen. In the stable ABI a tensor is a handle that C functions read. In ATen
 * it is an at::Tensor, a counted pointer to a TensorImpl. The methods of at::Tensor are
 * inlined, so a call is faster. But the library fits only the version of PyTorch it was
 * compiled with.
 *
 *     Tensor output = empty_like(input, {N, OC, OH, OW});
 *     run(input, conv2d_forward_check, conv2d_forward_kernels, input, weight, bias, p,
 *         output);
 *
 * This file includes only the headers that it uses. <torch/extension.h> includes them
 * and all others, and takes several times as long to compile.
 */
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>
#ifdef CONVLAB_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

#include <array>
#include <optional>
#include <vector>

#include "operators.h"

using at::Tensor;
using c10::ScalarType;
using Ints = std::vector<int64_t>;  // the C++ type of int[] in a schema

inline void must_be_there(const Tensor &tensor);  // calls.h

/* Returns a new contiguous tensor of these sizes, with dtype and device of `like`. */
inline Tensor empty_like(const Tensor &like, const Ints &sizes)
{
    must_be_there(like);
    return at::empty(sizes, like.options());
}

/* Returns a new gradient, or nullopt (NULL for the kernel) if the mask is false. */
template <size_t N>
std::optional<Tensor> wanted(const std::array<bool, N> &mask, size_t which,
                             const Tensor &like, const Ints &sizes)
{
    if (!mask[which]) return std::nullopt;
    return empty_like(like, sizes);
}

/* The device, stream and threads of a call. Sets the device of tensor `where`. */
class Place
{
  public:
    Place(const Tensor &where, ctx_t *ctx) : where_(where)
    {
        ctx->threads = 1;
        if (where.is_cuda()) {
            guard_.emplace(where.device());
            ctx->device = DEVICE_CUDA;
#ifdef CONVLAB_CUDA
            const auto stream = c10::cuda::getCurrentCUDAStream(where.get_device());
            ctx->stream = stream.stream();
#endif
        } else {
            ctx->threads = at::get_num_threads();
        }
    }

    /* Returns a tensor of `bytes` bytes on the device of the call. */
    Tensor memory(size_t bytes) const
    {
        return at::empty({static_cast<int64_t>(bytes)},
                         where_.options().dtype(at::kByte));
    }

  private:
    const Tensor &where_;
    std::optional<c10::DeviceGuard> guard_;
};

/* Calls f(begin, end) for parts of [0, COUNT) of at least `grain` units, in PyTorch's
 * threads. f throws nothing. */
template <typename F> void parallel(int64_t COUNT, int64_t grain, const F &f)
{
    at::parallel_for(0, COUNT, grain, f);
}

#include "../run.h"
