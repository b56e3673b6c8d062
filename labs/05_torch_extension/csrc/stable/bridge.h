// SPDX-License-Identifier: MIT
/* bridge.h - from PyTorch's stable ABI to convlab's contract, and back
 *
 * The stable ABI is C functions that PyTorch promises not to change and a thin C++ face
 * on them (torch/csrc/stable, torch/headeronly): one binary runs on many versions.
 *
 *     Tensor output = empty_like(input, {N, OC, OH, OW});
 *     run(input, conv2d_forward_check, conv2d_forward_kernels, input, weight, bias, p,
 *         output);
 *
 * `run` makes tensor_t views of the tensors, checks the arguments at the door, sets the
 * device, takes the stream and the threads that PyTorch uses now, and calls the kernel
 * of this device and dtype. What fails becomes a C++ exception with the contract's
 * sentence, which Python sees as a RuntimeError.
 */
#pragma once

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <tuple>
#include <vector>

#include "../kernels.h"

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
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
    Ints strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= sizes[d] > 1 ? sizes[d] : 1;
    }
    must_be_there(like);
    int32_t dtype = 0, device = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(like.get(), &dtype));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device));
    AtenTensorHandle made = nullptr;
    if (aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(),
                                 strides.data(), dtype, device, like.get_device_index(),
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

/* A gradient that may not be wanted: backward gives NULL to the kernel and an empty
 * tensor to autograd, which does not look at it. */
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
    throw std::runtime_error("a tensor has a dtype that no convlab kernel knows; "
                             "convert it to float32 or float64");
}

inline tensor_t view_of(const Tensor &tensor)
{
    tensor_t view = {};
    must_be_there(tensor);
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
class __attribute__((visibility("hidden"))) Call
{
  public:
    explicit Call(const Tensor &where) : where_(where)
    {
        ctx.threads = 1;
        ctx.scratch = scratch;
        ctx.scratch_state = this;
        if (where.is_cuda()) {
            const int32_t index = where.get_device_index();
            guard_.emplace(index);
            ctx.device = DEVICE_CUDA;
            void *stream = nullptr;
#ifdef CONVLAB_CUDA
            TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(index, &stream));
#endif
            ctx.stream = static_cast<CUstream_st *>(stream);
        } else {
            uint32_t threads = 1;
            TORCH_ERROR_CODE_CHECK(torch_get_num_threads(&threads));
            ctx.threads = static_cast<int32_t>(threads);
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
        const int64_t size[1] = {static_cast<int64_t>(bytes)}, stride[1] = {1};
        int32_t device = 0;
        AtenTensorHandle made = nullptr;
        if (aoti_torch_get_device_type(call.where_.get(), &device) ||
            aoti_torch_empty_strided(1, size, stride, aoti_torch_dtype_uint8(), device,
                                     call.where_.get_device_index(), &made))
            return nullptr;
        call.held_.emplace_back(made);
        return call.held_.back().mutable_data_ptr();
    }

    const Tensor &where_;
    std::optional<torch::stable::accelerator::DeviceGuard> guard_;
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
