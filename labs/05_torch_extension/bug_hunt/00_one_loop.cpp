// SPDX-License-Identifier: MIT
/* 00 one loop
 *
 *   does     silu, which is x * sigmoid(x): one loop for forward, one for backward
 *   seen     a kind of bug: raw data pointers of any tensor, as in early C++ extensions
 *            before they called .contiguous()
 *   passes   every size, dtype and number, if tensors are new and not sliced
 *   run      make grade T=05_torch_extension/bug_hunt/00
 */
#include "bridge.h"

#include <cmath>

static double sigmoid(double x)
{
    return 1 / (1 + std::exp(-x));
}

/* The derivative of silu at x. */
static double slope_at(double x)
{
    const double share = sigmoid(x);
    return share + x * share * (1 - share);
}

/* Writes silu(x) to `made` for each element x of `input`. */
template <typename T> static void fill_forward(const Tensor &input, Tensor &made)
{
    const T *from = static_cast<const T *>(input.const_data_ptr());
    T *to = static_cast<T *>(made.mutable_data_ptr());
    // BEGIN SOLUTION
    const tensor_t view = view_of(input);
    // END SOLUTION
    // STARTER // input.numel() elements, one after the other
    for (int64_t i = 0; i < input.numel(); i++) {
        // BEGIN SOLUTION
        const double x = from[tensor_offset(&view, view.ndim, i)];
        // END SOLUTION
        // STARTER const double x = from[i];
        to[i] = static_cast<T>(x * sigmoid(x));
    }
}

/* Writes grad_output * (slope of silu) to `made` for each element of `input`. */
template <typename T>
static void fill_backward(const Tensor &grad_output, const Tensor &input, Tensor &made)
{
    const T *from = static_cast<const T *>(input.const_data_ptr());
    const T *times = static_cast<const T *>(grad_output.const_data_ptr());
    T *to = static_cast<T *>(made.mutable_data_ptr());
    // BEGIN SOLUTION
    const tensor_t view = view_of(input), factors = view_of(grad_output);
    // END SOLUTION
    for (int64_t i = 0; i < input.numel(); i++) {
        // BEGIN SOLUTION
        const double x = from[tensor_offset(&view, view.ndim, i)];
        const double factor = times[tensor_offset(&factors, factors.ndim, i)];
        // END SOLUTION
        // STARTER const double x = from[i], factor = times[i];
        to[i] = static_cast<T>(factor * slope_at(x));
    }
}

/* Returns a new tensor with the sizes of `input`, which is float32 or float64. */
static Tensor made_for(const Tensor &input)
{
    const ScalarType dtype = input.scalar_type();
    if (dtype != ScalarType::Float && dtype != ScalarType::Double)
        throw std::runtime_error("silu: 'input' must be float32 or float64");
    return empty_like(input, sizes_of(input));
}

static Tensor forward(const Tensor &input)
{
    Tensor made = made_for(input);
    if (input.scalar_type() == ScalarType::Float)
        fill_forward<float>(input, made);
    else
        fill_forward<double>(input, made);
    return made;
}

static Tensor backward(const Tensor &grad_output, const Tensor &input)
{
    Tensor made = made_for(input);
    if (input.scalar_type() == ScalarType::Float)
        fill_backward<float>(grad_output, input, made);
    else
        fill_backward<double>(grad_output, input, made);
    return made;
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("silu(Tensor input) -> Tensor");
    m.def("silu_backward(Tensor grad_output, Tensor input) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("silu", TORCH_BOX(&forward));
    m.impl("silu_backward", TORCH_BOX(&backward));
}
