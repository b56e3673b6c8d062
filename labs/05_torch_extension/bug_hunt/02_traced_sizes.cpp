// SPDX-License-Identifier: MIT
/* 02 traced sizes
 *
 *   does     prelu with fake kernels, which give sizes to torch.compile and export
 *   seen     a public extension tutorial for im2col: its convolution has one bias for
 *            all channels. pytorch/pytorch pull request 187760 (2026): some
 *            convolutions were traced with a wrong width
 *   passes   layers with a single slope; all calls in eager mode
 *   run      make grade T=05_torch_extension/bug_hunt/02
 *
 * The C++ side. The rules are in 02_traced_sizes.py.
 */
#include "bridge.h"

/* output = input above 0, and weight[c] * input below */
template <typename T>
static void fill_forward(const tensor_t &input, const tensor_t &weight,
                         const tensor_t &output)
{
    const int64_t N = input.size[0], C = input.size[1], L = input.size[2];
    for (int64_t n = 0; n < N; n++) {
        for (int64_t c = 0; c < C; c++) {
            for (int64_t l = 0; l < L; l++) {
                const T x = element_at<T>(input, n, c, l);
                element_at<T>(output, n, c, l) =
                    x > 0 ? x : element_at<T>(weight, c) * x;
            }
        }
    }
}

/* grad_input = grad_output above 0, and weight[c] * grad_output below
 * grad_weight[c] = sum over n, l of grad_output * input, where input is below 0 */
template <typename T>
static void fill_backward(const tensor_t &grad_output, const tensor_t &input,
                          const tensor_t &weight, const tensor_t &grad_input,
                          const tensor_t &grad_weight)
{
    const int64_t N = input.size[0], C = input.size[1], L = input.size[2];
    for (int64_t c = 0; c < C; c++) {
        double sum = 0;
        for (int64_t n = 0; n < N; n++) {
            for (int64_t l = 0; l < L; l++) {
                const T x = element_at<T>(input, n, c, l);
                const T gradient = element_at<T>(grad_output, n, c, l);
                const T slope = x > 0 ? 1 : element_at<T>(weight, c);
                element_at<T>(grad_input, n, c, l) = slope * gradient;
                if (x < 0) sum += static_cast<double>(gradient) * x;
            }
        }
        element_at<T>(grad_weight, c) = static_cast<T>(sum);
    }
}

/* Returns whether the tensors are float64. Throws if dtypes or sizes do not fit. */
static bool is_double(const Tensor &input, const Tensor &weight)
{
    const ScalarType dtype = input.scalar_type();
    if (dtype != weight.scalar_type() ||
        (dtype != ScalarType::Float && dtype != ScalarType::Double))
        throw std::runtime_error("prelu: the tensors must be float32 or float64");
    if (input.dim() != 3 || weight.dim() != 1 || weight.size(0) != input.size(1))
        throw std::runtime_error("prelu: 'input' must be (N, C, L) and 'weight' (C)");
    return dtype == ScalarType::Double;
}

static Tensor forward(const Tensor &input, const Tensor &weight)
{
    const bool wide = is_double(input, weight);
    Tensor output = empty_like(input, sizes_of(input));
    const auto fill = wide ? &fill_forward<double> : &fill_forward<float>;
    fill(view_of(input), view_of(weight), view_of(output));
    return output;
}

static std::tuple<Tensor, Tensor> backward(const Tensor &grad_output,
                                           const Tensor &input, const Tensor &weight)
{
    const bool wide = is_double(input, weight);
    Tensor grad_input = empty_like(input, sizes_of(input));
    Tensor grad_weight = empty_like(weight, sizes_of(weight));
    const auto fill = wide ? &fill_backward<double> : &fill_backward<float>;
    fill(view_of(grad_output), view_of(input), view_of(weight), view_of(grad_input),
         view_of(grad_weight));
    return {grad_input, grad_weight};
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("prelu(Tensor input, Tensor weight) -> Tensor");
    m.def("prelu_backward(Tensor grad_output, Tensor input, Tensor weight) "
          "-> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("prelu", TORCH_BOX(&forward));
    m.impl("prelu_backward", TORCH_BOX(&backward));
}
