// SPDX-License-Identifier: MIT
/* bridge.h - from PyTorch's own C++ classes (ATen) to convlab's contract, and back
 *
 * Step (b): the same names and the same `run` as ../stable/bridge.h, on the headers
 * that PyTorch itself is made of. There a tensor is a handle, and everything asked of
 * it a C function; here it is at::Tensor, a counted pointer to a TensorImpl, and its
 * methods are inlined into this library: a call is cheaper, and the library fits only
 * the version of PyTorch it was compiled with.
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
#include <tuple>
#include <vector>

#include "../kernels.h"

using at::Tensor;
using c10::ScalarType;
using Ints = std::vector<int64_t>;  // what an int[] of the schema arrives as

/* ---- tensors --------------------------------------------------------------------- */

inline void must_be_there(const Tensor &tensor)
{
    if (!tensor.defined())
        throw std::runtime_error("a tensor is None, which only a bias may be");
}

/* A new tensor of these sizes, row-major, of the dtype and on the device of `like`. */
inline Tensor empty_like(const Tensor &like, const Ints &sizes)
{
    must_be_there(like);
    return at::empty(sizes, like.options());
}

/* A gradient that may not be wanted: backward gives NULL to the kernel and an empty
 * tensor to autograd, which does not look at it. */
template <size_t N>
std::optional<Tensor> wanted(const std::array<bool, N> &mask, size_t which,
                             const Tensor &like, const Ints &sizes)
{
    if (!mask[which]) return std::nullopt;
    return empty_like(like, sizes);
}

inline Tensor or_empty(const std::optional<Tensor> &gradient, const Tensor &like)
{
    return gradient ? *gradient : empty_like(like, {0});
}

/* The size along an axis; 0 if there is no such axis: the check at the door says it. */
inline int64_t size(const Tensor &tensor, int64_t axis)
{
    return axis < tensor.dim() ? tensor.size(axis) : 0;
}

inline Ints sizes_of(const Tensor &tensor)
{
    return tensor.sizes().vec();
}

inline dtype_t dtype_of(const Tensor &tensor)
{
    switch (tensor.scalar_type()) {
    case ScalarType::Half: return DTYPE_F16;
    case ScalarType::BFloat16: return DTYPE_BF16;
    case ScalarType::Float: return DTYPE_F32;
    case ScalarType::Double: return DTYPE_F64;
    case ScalarType::Int: return DTYPE_I32;
    case ScalarType::Long: return DTYPE_I64;
    default: break;
    }
    throw std::runtime_error("a tensor has a dtype that no convlab kernel knows; "
                             "convert it to float32 or float64");
}

inline tensor_t view_of(const Tensor &tensor)
{
    must_be_there(tensor);
    tensor_t view = {};
    const int64_t ndim = tensor.dim();
    if (ndim > TENSOR_MAX_DIMS)
        throw std::runtime_error("a tensor has " + std::to_string(ndim) +
                                 " axes, a convlab tensor has at most " +
                                 std::to_string(static_cast<int>(TENSOR_MAX_DIMS)));
    const auto sizes = tensor.sizes(), strides = tensor.strides();
    view.data = const_cast<void *>(tensor.const_data_ptr());  // kernels honour const
    view.ndim = static_cast<int32_t>(ndim);
    view.dtype = dtype_of(tensor);
    view.device = tensor.is_cuda() ? DEVICE_CUDA : DEVICE_CPU;
    for (int64_t d = 0; d < ndim; d++) {
        view.size[d] = sizes[d];
        view.stride[d] = strides[d];
    }
    return view;
}

/* What a kernel is handed for one of its arguments: a pointer to a view, NULL for an
 * absent tensor, options as they are. */
struct view_t {
    tensor_t view;
    bool present;
    operator tensor_t *()
    {
        return present ? &view : nullptr;
    }
};

inline view_t argument(const Tensor &tensor)
{
    return {view_of(tensor), true};
}

inline view_t argument(const std::optional<Tensor> &tensor)
{
    return tensor ? argument(*tensor) : view_t{{}, false};
}

template <typename Options> Options argument(const Options &options)
{
    return options;
}

/* ---- a call ---------------------------------------------------------------------- */

/* The context of one call. Scratch memory is PyTorch's own, on the current stream: it
 * is given back when the call ends, and the stream keeps its order. */
class Call
{
  public:
    explicit Call(const Tensor &where) : where_(where)
    {
        ctx.threads = 1;
        ctx.scratch = scratch;
        ctx.scratch_state = this;
        if (where.is_cuda()) {
            guard_.emplace(where.device());
            ctx.device = DEVICE_CUDA;
#ifdef CONVLAB_CUDA
            const auto stream = c10::cuda::getCurrentCUDAStream(where.get_device());
            ctx.stream = stream.stream();
#endif
        } else {
            ctx.threads = at::get_num_threads();
        }
    }

    void must(status_t status)
    {
        if (status == STATUS_OK) return;
        if (ctx.error[0]) throw std::runtime_error(ctx.error);
        if (status == STATUS_NOT_IMPLEMENTED)
            throw std::runtime_error(
                "the rung behind this operator is not written yet");
        if (status == STATUS_NO_MEMORY) throw std::runtime_error("out of memory");
        throw std::runtime_error("a kernel failed without a word");
    }

    ctx_t ctx = {};

  private:
    static void *scratch(ctx_t *ctx, size_t bytes)
    {
        Call &call = *static_cast<Call *>(ctx->scratch_state);
        try {
            call.held_.push_back(at::empty({static_cast<int64_t>(bytes)},
                                           call.where_.options().dtype(at::kByte)));
        } catch (...) {
            return nullptr;
        }
        return call.held_.back().mutable_data_ptr();
    }

    const Tensor &where_;
    std::optional<c10::DeviceGuard> guard_;
    std::vector<Tensor> held_;
};

/* Check the arguments and call the kernel of `where`'s device and dtype. */
template <typename Check, typename Function, typename... Arguments>
void run(const Tensor &where, Check check, const kernels_t<Function> &kernels,
         const Arguments &...arguments)
{
    must_be_there(where);
    Call call(where);
    std::tuple<decltype(argument(arguments))...> views(argument(arguments)...);
    std::apply([&](auto &...view) { call.must(check(&call.ctx, view...)); }, views);
    Function *kernel = kernels.of(call.ctx.device, dtype_of(where));
    std::apply([&](auto &...view) { call.must(kernel(&call.ctx, view...)); }, views);
}
