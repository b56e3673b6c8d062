// SPDX-License-Identifier: MIT
/* 01 joined sizes
 *
 *   does     mul: first the sizes of the output, from both operands, then its elements
 *   seen     tracel-ai/burn issue 5334 and flagos-ai/FlagGems pull request 6024 (2026):
 *            valid operands were refused, or gave a result of the wrong shape
 *   passes   the tensors of most programs, stretched or not
 *   run      make grade T=05_torch_extension/bug_hunt/01
 */
#include "bridge.h"

#include <algorithm>

/* Returns the size of an axis, counted from the end: number 1 is the last axis. If the
 * tensor lacks this axis, the size is 1. */
static int64_t size_from_end(const Tensor &tensor, int64_t number)
{
    return number > tensor.dim() ? 1 : tensor.size(tensor.dim() - number);
}

/* Returns the common sizes of two operands. */
static Ints joined(const Tensor &left, const Tensor &right)
{
    const int64_t axes = std::max(left.dim(), right.dim());
    Ints sizes(static_cast<size_t>(axes));
    for (int64_t number = 1; number <= axes; number++) {
        const int64_t mine = size_from_end(left, number);
        const int64_t theirs = size_from_end(right, number);
        // BEGIN SOLUTION
        sizes[static_cast<size_t>(axes - number)] = mine == 1 ? theirs : mine;
        // END SOLUTION
        // STARTER sizes[static_cast<size_t>(axes - number)] = std::max(mine, theirs);
    }
    return sizes;
}

/* Returns a view with the common sizes. Along a stretched axis the stride is 0. */
static tensor_t stretched(const Tensor &operand, const Ints &sizes)
{
    tensor_t view = view_of(operand);
    const tensor_t own = view;
    view.ndim = static_cast<int32_t>(sizes.size());
    for (int32_t d = 0; d < view.ndim; d++) {
        const int32_t axis = d - (view.ndim - own.ndim);  // of the operand
        const int64_t size = axis < 0 ? 1 : own.size[axis];
        view.size[d] = sizes[static_cast<size_t>(d)];
        view.stride[d] = size == 1 ? 0 : own.stride[axis];
        if (size != 1 && size != view.size[d])
            throw std::runtime_error("mul: an operand has size " +
                                     std::to_string(size) + " where the result has " +
                                     std::to_string(view.size[d]));
    }
    return view;
}

template <typename T> static T &element(const tensor_t &view, int64_t i)
{
    return static_cast<T *>(view.data)[tensor_offset(&view, view.ndim, i)];
}

/* Writes the product of two views to the elements of `made`. */
template <typename T>
static void multiply(const tensor_t &left, const tensor_t &right, Tensor &made)
{
    T *to = static_cast<T *>(made.mutable_data_ptr());
    for (int64_t i = 0; i < made.numel(); i++)
        to[i] = element<T>(left, i) * element<T>(right, i);
}

/* Adds gradient * factor to the gradient of an operand, which is stretched. */
template <typename T>
static void add_products(const tensor_t &gradient, const tensor_t &factor,
                         const tensor_t &to)
{
    for (int64_t i = 0; i < tensor_numel(&gradient); i++)
        element<T>(to, i) += element<T>(gradient, i) * element<T>(factor, i);
}

/* Returns whether the operands are float64. Both must have the same real dtype. */
static bool is_double(const Tensor &left, const Tensor &right)
{
    const ScalarType dtype = left.scalar_type();
    if (dtype != right.scalar_type() ||
        (dtype != ScalarType::Float && dtype != ScalarType::Double))
        throw std::runtime_error("mul: both operands must be float32 or float64");
    return dtype == ScalarType::Double;
}

static Tensor forward(const Tensor &left, const Tensor &right)
{
    const Ints sizes = joined(left, right);
    const tensor_t from = stretched(left, sizes), with = stretched(right, sizes);
    Tensor made = empty_like(left, sizes);
    if (is_double(left, right))
        multiply<double>(from, with, made);
    else
        multiply<float>(from, with, made);
    return made;
}

/* Returns the gradient of `operand`: gradient * other, summed to its sizes. */
static Tensor gradient_of(const Tensor &operand, const Tensor &gradient,
                          const Tensor &other)
{
    const Ints sizes = sizes_of(gradient);
    Tensor made = empty_like(operand, sizes_of(operand));
    const tensor_t from = view_of(gradient), with = stretched(other, sizes);
    const tensor_t to = stretched(made, sizes);
    if (is_double(operand, other)) {
        std::fill_n(static_cast<double *>(to.data), made.numel(), 0.0);
        add_products<double>(from, with, to);
    } else {
        std::fill_n(static_cast<float *>(to.data), made.numel(), 0.0f);
        add_products<float>(from, with, to);
    }
    return made;
}

static std::tuple<Tensor, Tensor> backward(const Tensor &gradient, const Tensor &left,
                                           const Tensor &right)
{
    return {gradient_of(left, gradient, right), gradient_of(right, gradient, left)};
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("mul(Tensor input, Tensor other) -> Tensor");
    m.def("mul_backward(Tensor grad_output, Tensor input, Tensor other) "
          "-> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("mul", TORCH_BOX(&forward));
    m.impl("mul_backward", TORCH_BOX(&backward));
}
