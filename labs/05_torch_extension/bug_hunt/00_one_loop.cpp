// SPDX-License-Identifier: MIT
/* 00 one loop
 *
 *   does     gelu: one loop for forward, one for backward, without another lab's kernel
 *   seen     a kind of bug: raw data pointers of any tensor, as in early C++ extensions
 *            before they called .contiguous()
 *   passes   every size, dtype and number, if tensors are new and not sliced
 *   run      make grade T=05_torch_extension/bug_hunt/00
 */
#include "bridge.h"

#include <cmath>

/* The value of gelu at one number, and the derivative of gelu at this number. */
struct Both {
    double value, slope;
};

static Both both_of(double x, bool by_tanh)
{
    if (!by_tanh) {
        const double bell = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
        const double share = std::erfc(-x / std::sqrt(2.0)) / 2;
        return {x * share, share + x * bell};
    }
    const double c = std::sqrt(2 / M_PI), cubic = 0.044715;
    const double t = std::tanh(c * (x + cubic * x * x * x));
    const double inner = c * (1 + 3 * cubic * x * x);
    return {x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) * inner / 2};
}

static bool is_tanh(const std::string &approximate)
{
    if (approximate == "none" || approximate == "tanh") return approximate == "tanh";
    throw std::runtime_error("gelu: 'approximate' must be 'none' or 'tanh'");
}

/* Writes gelu(x) to `made` for each element of x; with a gradient, gradient * slope. */
template <typename T>
static void fill(const Tensor &x, const Tensor *gradient, bool by_tanh, Tensor &made)
{
    const T *from = static_cast<const T *>(x.const_data_ptr());
    const T *times =
        gradient ? static_cast<const T *>(gradient->const_data_ptr()) : nullptr;
    T *to = static_cast<T *>(made.mutable_data_ptr());
    // BEGIN SOLUTION
    const tensor_t in_x = view_of(x),
                   in_gradient = gradient ? view_of(*gradient) : in_x;
    // END SOLUTION
    // STARTER // x.numel() elements, one after the other
    for (int64_t i = 0; i < x.numel(); i++) {
        // BEGIN SOLUTION
        const Both both = both_of(from[tensor_offset(&in_x, in_x.ndim, i)], by_tanh);
        const int64_t at = tensor_offset(&in_gradient, in_gradient.ndim, i);
        to[i] = static_cast<T>(times ? times[at] * both.slope : both.value);
        // END SOLUTION
        // STARTER const Both both = both_of(from[i], by_tanh);
        // STARTER to[i] = static_cast<T>(times ? times[i] * both.slope : both.value);
    }
}

static Tensor made_of(const Tensor &x, const Tensor *gradient, bool by_tanh)
{
    Ints sizes;
    for (int64_t d = 0; d < x.dim(); d++) sizes.push_back(x.size(d));
    Tensor made = empty_like(x, sizes);
    if (x.scalar_type() == ScalarType::Float)
        fill<float>(x, gradient, by_tanh, made);
    else if (x.scalar_type() == ScalarType::Double)
        fill<double>(x, gradient, by_tanh, made);
    else
        throw std::runtime_error("gelu: 'input' must be float32 or float64");
    return made;
}

static Tensor forward(const Tensor &input, const std::string &approximate)
{
    return made_of(input, nullptr, is_tanh(approximate));
}

static Tensor backward(const Tensor &grad_output, const Tensor &input,
                       const std::string &approximate)
{
    return made_of(input, &grad_output, is_tanh(approximate));
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("gelu(Tensor input, str approximate) -> Tensor");
    m.def("gelu_backward(Tensor grad_output, Tensor input, str approximate) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("gelu", TORCH_BOX(&forward));
    m.impl("gelu_backward", TORCH_BOX(&backward));
}
