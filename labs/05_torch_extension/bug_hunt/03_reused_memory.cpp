// SPDX-License-Identifier: MIT
/* 03 reused memory
 *
 *   does     gelu; backward creates no tensor if it can avoid it
 *   seen     pytorch/pytorch issue 91249 (2022): operators do more than their schema
 *            says, and programs are wrong only when they are compiled
 *   passes   a loss that is a sum; every gradient that is non-contiguous or stretched
 *   run      make grade T=05_torch_extension/bug_hunt/03
 *
 * The C++ side. The rules are in 03_reused_memory.py.
 */
#include "bridge.h"

#include <cmath>

static constexpr double SCALE = 0.79788456080286535588;  // sqrt(2/pi)

/* Returns gelu(x) = x / 2 * (1 + bent); slope_at(x) returns the derivative. */
static double value_at(double x, bool tanh_form)
{
    const double u = SCALE * (x + 0.044715 * x * x * x);
    const double bent = tanh_form ? std::tanh(u) : std::erf(x * M_SQRT1_2);
    return x * (1 + bent) / 2;
}

static double slope_at(double x, bool tanh_form)
{
    const double u = SCALE * (x + 0.044715 * x * x * x);
    const double bent = tanh_form ? std::tanh(u) : std::erf(x * M_SQRT1_2);
    const double growth =
        tanh_form ? (1 - bent * bent) * (1 + 0.134145 * x * x) : std::exp(-x * x / 2);
    return (1 + bent + x * SCALE * growth) / 2;
}

/* Writes gelu(x) to `to`, or factors * (slope of gelu at x). `to` is contiguous. */
template <typename T>
static void walk(const tensor_t &x, const tensor_t *factors, bool tanh_form, T *to)
{
    const T *from = static_cast<const T *>(x.data);
    for (int64_t i = 0; i < tensor_numel(&x); i++) {
        const double at = from[tensor_offset(&x, x.ndim, i)];
        if (!factors) {
            to[i] = static_cast<T>(value_at(at, tanh_form));
            continue;
        }
        const T *times = static_cast<const T *>(factors->data);
        const T factor = times[tensor_offset(factors, factors->ndim, i)];
        to[i] = static_cast<T>(factor * slope_at(at, tanh_form));
    }
}

static void write(const Tensor &x, const Tensor *factors, const std::string &form,
                  Tensor &to)
{
    const tensor_t view = view_of(x), more = factors ? view_of(*factors) : view;
    const bool tanh_form = form == "tanh";
    if (!tanh_form && form != "none")
        throw std::runtime_error("gelu: 'approximate' must be 'none' or 'tanh'");
    if (view.dtype == DTYPE_F64)
        walk(view, factors ? &more : nullptr, tanh_form,
             static_cast<double *>(to.mutable_data_ptr()));
    else if (view.dtype == DTYPE_F32)
        walk(view, factors ? &more : nullptr, tanh_form,
             static_cast<float *>(to.mutable_data_ptr()));
    else
        throw std::runtime_error("gelu: 'input' must be float32 or float64");
}

static Tensor forward(const Tensor &x, const std::string &form)
{
    Tensor made = empty_like(x, sizes_of(x));
    write(x, nullptr, form, made);
    return made;
}

static Tensor backward(const Tensor &gradient, const Tensor &x, const std::string &form)
{
    // BEGIN SOLUTION
    Tensor made = empty_like(gradient, sizes_of(gradient));
    // END SOLUTION
    // STARTER // each element is read before it is written
    // STARTER const tensor_t view = view_of(gradient);
    // STARTER Tensor made = tensor_is_contiguous(&view)
    // STARTER                   ? gradient
    // STARTER                   : empty_like(gradient, sizes_of(gradient));
    write(x, &gradient, form, made);
    return made;
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
