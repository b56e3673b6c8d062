// SPDX-License-Identifier: MIT
/* calls.h - PyTorch's tensors as convlab's tensor_t, and the context of a call
 *
 * stable/bridge.h and aten/bridge.h include run.h, and run.h includes this file. Before
 * the #include, each of the two headers defines these names:
 *
 *     Tensor, ScalarType, Ints    PyTorch's types, in the stable ABI or in ATen
 *     empty_like                  a new tensor
 *     parallel                    at::parallel_for
 *     Place                       device, stream, threads and memory of a call
 */
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "kernels.h"
#include "scratch.h"

/* ---- tensors --------------------------------------------------------------------- */

inline void must_be_there(const Tensor &tensor)
{
    if (!tensor.defined())
        throw std::runtime_error("a tensor is None, expected a tensor");
}

inline void must_have_few_axes(size_t ndim)
{
    if (ndim > TENSOR_MAX_DIMS)
        throw std::runtime_error("a tensor has " + std::to_string(ndim) +
                                 " axes, but a convlab tensor has at most " +
                                 std::to_string(static_cast<int>(TENSOR_MAX_DIMS)));
}

/* Returns the gradient, or an empty tensor if autograd did not request a gradient. */
inline Tensor or_empty(const std::optional<Tensor> &gradient, const Tensor &like)
{
    return gradient ? *gradient : empty_like(like, {0});
}

/* Returns the size along an axis, or 0 without this axis: then the check fails. An axis
 * of -1 is the last one of a tensor without axes. */
inline int64_t size(const Tensor &tensor, int64_t axis)
{
    return axis >= 0 && axis < tensor.dim() ? tensor.size(axis) : 0;
}

inline Ints sizes_of(const Tensor &tensor)
{
    const auto sizes = tensor.sizes();
    return Ints(sizes.begin(), sizes.end());
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
    throw std::runtime_error("a tensor has a dtype that no convlab kernel supports; "
                             "convert it to float32 or float64");
}

inline tensor_t view_of(const Tensor &tensor)
{
    must_be_there(tensor);
    tensor_t view = {};
    const auto sizes = tensor.sizes(), strides = tensor.strides();
    const size_t ndim = sizes.size();
    must_have_few_axes(ndim);
    view.data = const_cast<void *>(tensor.const_data_ptr());  // inputs stay unchanged
    view.ndim = static_cast<int32_t>(ndim);
    view.dtype = dtype_of(tensor);
    view.device = tensor.is_cuda() ? DEVICE_CUDA : DEVICE_CPU;
    for (size_t d = 0; d < ndim; d++) {
        view.size[d] = sizes[d];
        view.stride[d] = strides[d];
    }
    return view;
}

/* Returns the element of a view at an index, which has a number for each axis: in C++
 * what at1 to at4 are in C, for any dtype. */
template <typename T, typename... Index>
T &element_at(const tensor_t &t, Index... index)
{
    T *place = static_cast<T *>(t.data);
    int32_t axis = 0;
    ((place += index * t.stride[axis++]), ...);
    return *place;
}

/* An argument of a kernel: a pointer to a tensor_t, or NULL for an absent tensor.
 * view_t holds the tensor_t and converts to such a pointer. */
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

/* The context of one call, on the device of tensor `where`. On a GPU, scratch memory
 * comes from PyTorch, on the current stream. The memory is freed when the call ends.
 * This is safe, because a stream runs kernels in order. */
class __attribute__((visibility("hidden"))) Call
{
  public:
    explicit Call(const Tensor &where) : place_(where, &ctx)
    {
        ctx.scratch = scratch;
        ctx.scratch_state = this;
    }

    void must(status_t status)
    {
        if (status == STATUS_OK) return;
        if (ctx.error[0]) {  // callers in Python fill no struct
            const std::string said = ctx.error;
            throw std::runtime_error(said.substr(0, said.find(" (was the options")));
        }
        if (status == STATUS_NOT_IMPLEMENTED)
            throw std::runtime_error("the kernel of this operator is not written yet");
        if (status == STATUS_NO_MEMORY) throw std::runtime_error("out of memory");
        if (status == STATUS_UNSUPPORTED)
            throw std::runtime_error("no kernel supports these arguments");
        throw std::runtime_error("a kernel failed without a message");
    }

    ctx_t ctx = {};

  private:
    static void *scratch(ctx_t *ctx, size_t bytes)
    {
        Call &call = *static_cast<Call *>(ctx->scratch_state);
        try {
            if (ctx->device == DEVICE_CPU) return call.on_host_.take(bytes);
            call.on_card_.push_back(call.place_.memory(bytes));
            return call.on_card_.back().mutable_data_ptr();
        } catch (...) {  // exceptions must not pass a C function
            return nullptr;
        }
    }

    Place place_;
    Scratch on_host_;
    std::vector<Tensor> on_card_;
};
