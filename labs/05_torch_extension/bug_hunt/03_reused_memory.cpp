// SPDX-License-Identifier: MIT
/* 03 reused memory
 *
 *   does     elu; backward creates no tensor if it can avoid it
 *   seen     pytorch/pytorch issue 91249 (2022): operators do more than their schema
 *            says, and programs are wrong only when they are compiled
 *   passes   a loss that is a sum; every gradient that is non-contiguous or stretched
 *   run      make grade T=05_torch_extension/bug_hunt/03
 *
 * The C++ side. The rules are in 03_reused_memory.py.
 */
#include "bridge.h"

#include <cmath>

/* Returns elu(x): x above 0, and alpha * (exp(x) - 1) below. */
static double value_at(double x, double alpha)
{
    return x > 0 ? x : alpha * std::expm1(x);
}

static double slope_at(double x, double alpha)
{
    return x > 0 ? 1 : alpha * std::exp(x);
}

template <typename T> static T element(const tensor_t &t, int64_t i)
{
    return static_cast<const T *>(t.data)[tensor_offset(&t, t.ndim, i)];
}

/* Writes elu(x) to `to`, or factor * (slope of elu at x). `to` is contiguous. */
template <typename T>
static void walk(const tensor_t &x, const tensor_t *factors, double alpha, T *to)
{
    for (int64_t i = 0; i < tensor_numel(&x); i++) {
        const double here = element<T>(x, i);
        const double made = factors ? element<T>(*factors, i) * slope_at(here, alpha)
                                    : value_at(here, alpha);
        to[i] = static_cast<T>(made);
    }
}

static void write(const Tensor &x, const Tensor *factors, double alpha, Tensor &to)
{
    const tensor_t view = view_of(x), more = factors ? view_of(*factors) : view;
    const tensor_t *times = factors ? &more : nullptr;
    if (view.dtype == DTYPE_F64)
        walk(view, times, alpha, static_cast<double *>(to.mutable_data_ptr()));
    else if (view.dtype == DTYPE_F32)
        walk(view, times, alpha, static_cast<float *>(to.mutable_data_ptr()));
    else
        throw std::runtime_error("elu: 'input' must be float32 or float64");
}

static Tensor forward(const Tensor &x, double alpha)
{
    Tensor made = empty_like(x, sizes_of(x));
    write(x, nullptr, alpha, made);
    return made;
}

static Tensor backward(const Tensor &gradient, const Tensor &x, double alpha)
{
    // BEGIN SOLUTION
    Tensor made = empty_like(gradient, sizes_of(gradient));
    // END SOLUTION
    // STARTER // each element is read before it is written
    // STARTER const tensor_t view = view_of(gradient);
    // STARTER Tensor made = tensor_is_contiguous(&view)
    // STARTER                   ? gradient
    // STARTER                   : empty_like(gradient, sizes_of(gradient));
    write(x, &gradient, alpha, made);
    return made;
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("elu(Tensor input, float alpha) -> Tensor");
    m.def("elu_backward(Tensor grad_output, Tensor input, float alpha) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("elu", TORCH_BOX(&forward));
    m.impl("elu_backward", TORCH_BOX(&backward));
}
