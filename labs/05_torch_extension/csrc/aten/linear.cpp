// SPDX-License-Identifier: MIT
/* linear as an operator of PyTorch: torch.ops.convlab_aten.linear, ..._backward
 *
 * The leading axes of input are the kernel's affair: it takes them as they are.
 */
#include "bridge.h"

KERNELS(linear_forward);
KERNELS(linear_backward);

static Tensor forward(const Tensor &input, const Tensor &weight,
                      const std::optional<Tensor> &bias)
{
    // BEGIN SOLUTION
    Ints sizes = sizes_of(input);
    if (!sizes.empty()) sizes.back() = size(weight, 0);
    Tensor output = empty_like(input, sizes);
    run(input, linear_forward_check, linear_forward_kernels, input, weight, bias,
        output);
    return output;  // (..., OC)
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
    // STARTER throw std::runtime_error("linear_forward is not written yet");
}

/* Gradients of input, weight, bias; an empty tensor where output_mask is false. */
static std::tuple<Tensor, Tensor, Tensor> backward(const Tensor &grad_output,
                                                   const Tensor &input,
                                                   const Tensor &weight,
                                                   std::array<bool, 3> output_mask)
{
    // BEGIN SOLUTION
    const auto grad_input = wanted(output_mask, 0, input, sizes_of(input));
    const auto grad_weight = wanted(output_mask, 1, weight, sizes_of(weight));
    const auto grad_bias = wanted(output_mask, 2, weight, {size(weight, 0)});
    run(grad_output, linear_backward_check, linear_backward_kernels, grad_output, input,
        weight, grad_input, grad_weight, grad_bias);
    return {or_empty(grad_input, input), or_empty(grad_weight, input),
            or_empty(grad_bias, input)};
    // END SOLUTION
    // STARTER // your code (the reference takes 7 lines)
    // STARTER throw std::runtime_error("linear_backward is not written yet");
}

TORCH_LIBRARY_FRAGMENT(convlab_aten, m)
{
    m.def("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor");
    m.def("linear_backward(Tensor grad_output, Tensor input, Tensor weight, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(convlab_aten, CPU, m)
{
    m.impl("linear", &forward);
    m.impl("linear_backward", &backward);
}

#ifdef CONVLAB_CUDA
TORCH_LIBRARY_IMPL(convlab_aten, CUDA, m)
{
    m.impl("linear", &forward);
    m.impl("linear_backward", &backward);
}
#endif
