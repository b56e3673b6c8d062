// SPDX-License-Identifier: MIT
/* gelu as an operator of PyTorch: torch.ops.convlab.gelu and gelu_backward
 *
 * The option `approximate` is a string in PyTorch, and a number in operators.h.
 */
#include "bridge.h"

KERNELS(gelu_forward);
KERNELS(gelu_backward);

static gelu_params_t options_of(const std::string &approximate)
{
    if (approximate == "none") return {GELU_NONE};
    if (approximate == "tanh") return {GELU_TANH};
    throw std::runtime_error("gelu: 'approximate' is '" + approximate +
                             "', expected 'none' or 'tanh'");
}

static Tensor forward(const Tensor &input, const std::string &approximate)
{
    // BEGIN SOLUTION
    Tensor output = empty_like(input, sizes_of(input));
    run(input, gelu_forward_check, gelu_forward_kernels, input, options_of(approximate),
        output);
    return output;
    // END SOLUTION
    // STARTER (void)options_of;  // your code (the reference takes 4 lines)
    // STARTER throw std::runtime_error("gelu_forward is not written yet");
}

/* Returns the gradient of input. Autograd calls it only if the gradient is wanted. */
static Tensor backward(const Tensor &grad_output, const Tensor &input,
                       const std::string &approximate)
{
    // BEGIN SOLUTION
    Tensor grad_input = empty_like(input, sizes_of(input));
    run(grad_output, gelu_backward_check, gelu_backward_kernels, grad_output, input,
        options_of(approximate), grad_input);
    return grad_input;
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
    // STARTER throw std::runtime_error("gelu_backward is not written yet");
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("gelu(Tensor input, str approximate='none') -> Tensor");
    m.def("gelu_backward(Tensor grad_output, Tensor input, str approximate) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("gelu", TORCH_BOX(&forward));
    m.impl("gelu_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("gelu", TORCH_BOX(&forward));
    m.impl("gelu_backward", TORCH_BOX(&backward));
}
#endif
