// SPDX-License-Identifier: MIT
/* 04 rows in batches
 *
 *   does     bilinear with a rule for torch.vmap: each model has its own weights
 *   seen     pytorch/functorch issue 338 (2021): the rule for a convolution was wrong
 *            in two ways that no test covered
 *   passes   layers without a bias; a bias that all examples share
 *   run      make grade T=05_torch_extension/bug_hunt/04
 *
 * The C++ side. The rules are in 04_rows_in_batches.py.
 */
#include "bridge.h"

#include <algorithm>

struct factors_t {
    tensor_t left, right, weight;  // (N, IC), (N, JC), (OC, IC, JC)
};

/* Returns sum over ic, jc of left[n,ic] * weight[oc,ic,jc] * right[n,jc]. */
template <typename T>
static double product_at(const factors_t &of, int64_t n, int64_t oc)
{
    double sum = 0;
    for (int64_t ic = 0; ic < of.left.size[1]; ic++) {
        for (int64_t jc = 0; jc < of.right.size[1]; jc++) {
            const double pair =
                element_at<T>(of.left, n, ic) * element_at<T>(of.right, n, jc);
            sum += pair * element_at<T>(of.weight, oc, ic, jc);
        }
    }
    return sum;
}

template <typename T>
static void fill_forward(const factors_t &from, const tensor_t *bias,
                         const tensor_t &output)
{
    for (int64_t n = 0; n < output.size[0]; n++) {
        for (int64_t oc = 0; oc < output.size[1]; oc++) {
            const double start = bias ? element_at<T>(*bias, oc) : 0;
            element_at<T>(output, n, oc) =
                static_cast<T>(start + product_at<T>(from, n, oc));
        }
    }
}

/* Adds to the gradients of the factors what `gradient`, of one output, adds to them. */
template <typename T>
static void add_share(T gradient, const factors_t &from, const factors_t &to, int64_t n,
                      int64_t oc)
{
    for (int64_t ic = 0; ic < from.left.size[1]; ic++) {
        for (int64_t jc = 0; jc < from.right.size[1]; jc++) {
            const T x = element_at<T>(from.left, n, ic),
                    y = element_at<T>(from.right, n, jc);
            const T w = element_at<T>(from.weight, oc, ic, jc);
            element_at<T>(to.left, n, ic) += gradient * w * y;
            element_at<T>(to.right, n, jc) += gradient * w * x;
            element_at<T>(to.weight, oc, ic, jc) += gradient * x * y;
        }
    }
}

/* All gradients are 0 before. */
template <typename T>
static void fill_backward(const tensor_t &grad_output, const factors_t &from,
                          const factors_t &to, const tensor_t &grad_bias)
{
    for (int64_t n = 0; n < grad_output.size[0]; n++) {
        for (int64_t oc = 0; oc < grad_output.size[1]; oc++) {
            const T gradient = element_at<T>(grad_output, n, oc);
            element_at<T>(grad_bias, oc) += gradient;
            add_share(gradient, from, to, n, oc);
        }
    }
}

/* Returns whether a tensor is float64. */
static bool is_double(const Tensor &tensor)
{
    const ScalarType dtype = tensor.scalar_type();
    if (dtype != ScalarType::Float && dtype != ScalarType::Double)
        throw std::runtime_error("bilinear: the tensors must be float32 or float64");
    return dtype == ScalarType::Double;
}

static Tensor zeros(const Tensor &like, const Ints &sizes)
{
    Tensor made = empty_like(like, sizes);
    void *data = made.mutable_data_ptr();
    if (is_double(made))
        std::fill_n(static_cast<double *>(data), made.numel(), 0.0);
    else
        std::fill_n(static_cast<float *>(data), made.numel(), 0.0f);
    return made;
}

/* Returns views of the factors. Throws if their dtypes or sizes do not fit. */
static factors_t factors(const Tensor &left, const Tensor &right, const Tensor &weight)
{
    const bool dims = left.dim() == 2 && right.dim() == 2 && weight.dim() == 3;
    if (!dims || left.size(0) != right.size(0) || left.size(1) != weight.size(1) ||
        right.size(1) != weight.size(2))
        throw std::runtime_error("bilinear: the inputs must be (N, IC) and (N, JC), "
                                 "and 'weight' must be (OC, IC, JC)");
    if (is_double(left) != is_double(right) || is_double(left) != is_double(weight))
        throw std::runtime_error("bilinear: all tensors must have the same dtype");
    return {view_of(left), view_of(right), view_of(weight)};
}

static Tensor forward(const Tensor &left, const Tensor &right, const Tensor &weight,
                      const std::optional<Tensor> &bias)
{
    const factors_t from = factors(left, right, weight);
    Tensor output = empty_like(left, {left.size(0), weight.size(0)});
    const tensor_t added = bias ? view_of(*bias) : tensor_t{};
    const auto fill = is_double(left) ? &fill_forward<double> : &fill_forward<float>;
    fill(from, bias ? &added : nullptr, view_of(output));
    return output;
}

static std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Tensor &grad_output,
                                                           const Tensor &left,
                                                           const Tensor &right,
                                                           const Tensor &weight)
{
    const factors_t from = factors(left, right, weight);
    const Tensor to_left = zeros(left, sizes_of(left));
    const Tensor to_right = zeros(right, sizes_of(right));
    const Tensor to_weight = zeros(weight, sizes_of(weight));
    const Tensor to_bias = zeros(weight, {weight.size(0)});
    const auto fill = is_double(left) ? &fill_backward<double> : &fill_backward<float>;
    fill(view_of(grad_output), from, factors(to_left, to_right, to_weight),
         view_of(to_bias));
    return {to_left, to_right, to_weight, to_bias};
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias) "
          "-> Tensor");
    m.def("bilinear_backward(Tensor grad_output, Tensor input1, Tensor input2, "
          "Tensor weight) -> (Tensor, Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("bilinear", TORCH_BOX(&forward));
    m.impl("bilinear_backward", TORCH_BOX(&backward));
}
