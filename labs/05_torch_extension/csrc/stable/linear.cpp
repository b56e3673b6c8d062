// SPDX-License-Identifier: MIT
/* linear as an operator of PyTorch: torch.ops.convlab.linear and linear_backward
 *
 * The kernel accepts any number of leading axes of input, so forward reshapes nothing.
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

/* Returns gradients of input, weight, bias; an empty tensor for a false output_mask. */
static std::tuple<Tensor, Tensor, Tensor> backward(const Tensor &grad_output,
                                                   const Tensor &input,
                                                   const Tensor &weight,
                                                   const std::vector<bool> &output_mask)
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

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor");
    m.def("linear_backward(Tensor grad_output, Tensor input, Tensor weight, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("linear", TORCH_BOX(&forward));
    m.impl("linear_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("linear", TORCH_BOX(&forward));
    m.impl("linear_backward", TORCH_BOX(&backward));
}
#endif
