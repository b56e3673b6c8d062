// SPDX-License-Identifier: MIT
/* matmul as an operator of PyTorch: torch.ops.convlab.matmul and matmul_backward
 *
 * The operands have equal batch sizes. torch.matmul also accepts vectors, and batches
 * of different sizes. convlab_ext.matmul makes views of equal batch sizes for them.
 */
#include "bridge.h"

KERNELS(matmul_forward);
KERNELS(matmul_backward);

static Tensor forward(const Tensor &input, const Tensor &other)
{
    // BEGIN SOLUTION
    Ints sizes = sizes_of(input);
    if (!sizes.empty()) sizes.back() = size(other, other.dim() - 1);
    Tensor output = empty_like(input, sizes);
    run(input, matmul_forward_check, matmul_forward_kernels, input, other, output);
    return output;  // (..., M, N)
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER throw std::runtime_error("matmul_forward is not written yet");
}

/* Returns gradients of input and other; an empty tensor for a false output_mask. */
static std::tuple<Tensor, Tensor> backward(const Tensor &grad_output,
                                           const Tensor &input, const Tensor &other,
                                           const std::vector<bool> &output_mask)
{
    // BEGIN SOLUTION
    const auto grad_input = wanted(output_mask, 0, input, sizes_of(input));
    const auto grad_other = wanted(output_mask, 1, other, sizes_of(other));
    run(grad_output, matmul_backward_check, matmul_backward_kernels, grad_output, input,
        other, grad_input, grad_other);
    return {or_empty(grad_input, input), or_empty(grad_other, input)};
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER throw std::runtime_error("matmul_backward is not written yet");
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("matmul(Tensor input, Tensor other) -> Tensor");
    m.def("matmul_backward(Tensor grad_output, Tensor input, Tensor other, "
          "bool[2] output_mask) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("matmul", TORCH_BOX(&forward));
    m.impl("matmul_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("matmul", TORCH_BOX(&forward));
    m.impl("matmul_backward", TORCH_BOX(&backward));
}
#endif
