// SPDX-License-Identifier: MIT
/* bridge.h - from PyTorch's own C++ classes (ATen) to convlab's contract, and back
 *
 * Step (b): the same names and the same `run` as behind ../stable/bridge.h, on the
 * headers that PyTorch itself is made of. There a tensor is a handle, and everything
 * asked of it a C function; here it is at::Tensor, a counted pointer to a TensorImpl,
 * and its methods are inlined into this library: a call is cheaper, and the library
 * fits only the version of PyTorch it was compiled with.
 *
 *     Tensor output = empty_like(input, {N, OC, OH, OW});
 *     run(input, conv2d_forward_check, conv2d_forward_kernels, input, weight, bias, p,
 *         output);
 *
 * Only the headers that are used: <torch/extension.h> has all of these and everything
 * else, and takes several times as long to compile.
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
using Ints = std::vector<int64_t>;  // what an int[] of the schema arrives as

inline void must_be_there(const Tensor &tensor);  // calls.h

/* A new tensor of these sizes, row-major, of the dtype and on the device of `like`. */
inline Tensor empty_like(const Tensor &like, const Ints &sizes)
{
    must_be_there(like);
    return at::empty(sizes, like.options());
}

/* A gradient that may not be wanted: the kernel is given NULL for it. */
template <size_t N>
std::optional<Tensor> wanted(const std::array<bool, N> &mask, size_t which,
                             const Tensor &like, const Ints &sizes)
{
    if (!mask[which]) return std::nullopt;
    return empty_like(like, sizes);
}

/* Where a call runs: the device of a tensor is set while it lives. */
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

    /* So many bytes there. */
    Tensor memory(size_t bytes) const
    {
        return at::empty({static_cast<int64_t>(bytes)},
                         where_.options().dtype(at::kByte));
    }

  private:
    const Tensor &where_;
    std::optional<c10::DeviceGuard> guard_;
};

#include "../calls.h"
