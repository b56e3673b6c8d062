// SPDX-License-Identifier: MIT
/* add as an operator of PyTorch: torch.ops.convlab.add and add_backward
 *
 * The kernel broadcasts the operands, so the operands are not expanded before. Backward
 * gets the sizes of the operands, because grad_output has only the common size.
 */
#include "bridge.h"

KERNELS(add_forward);
KERNELS(add_backward);

// BEGIN SOLUTION
/* Returns the common sizes of both operands, aligned at the last axis. Where the longer
 * one has size 1, the size is the shorter one's. The argument check refuses sizes that
 * do not fit. */
static Ints stretched(const Ints &left, const Ints &right)
{
    Ints common = left.size() > right.size() ? left : right;
    const Ints &shorter = left.size() > right.size() ? right : left;
    const size_t missing = common.size() - shorter.size();
    for (size_t d = 0; d < shorter.size(); d++)
        if (common[missing + d] == 1) common[missing + d] = shorter[d];
    return common;
}
// END SOLUTION
// STARTER // a helper, if you want one (the reference takes 9 lines)

static Tensor forward(const Tensor &input, const Tensor &other, double alpha)
{
    // BEGIN SOLUTION
    Tensor output = empty_like(input, stretched(sizes_of(input), sizes_of(other)));
    run(input, add_forward_check, add_forward_kernels, input, other,
        add_params_t{alpha}, output);
    return output;
    // END SOLUTION
    // STARTER // your code (the reference takes 4 lines)
    // STARTER throw std::runtime_error("add_forward is not written yet");
}

/* Returns gradients of input and other; an empty tensor for a false output_mask. */
static std::tuple<Tensor, Tensor> backward(const Tensor &grad_output,
                                           const Ints &input_size,
                                           const Ints &other_size, double alpha,
                                           const std::vector<bool> &output_mask)
{
    // BEGIN SOLUTION
    const auto grad_input = wanted(output_mask, 0, grad_output, input_size);
    const auto grad_other = wanted(output_mask, 1, grad_output, other_size);
    run(grad_output, add_backward_check, add_backward_kernels, grad_output,
        add_params_t{alpha}, grad_input, grad_other);
    return {or_empty(grad_input, grad_output), or_empty(grad_other, grad_output)};
    // END SOLUTION
    // STARTER // your code (the reference takes 5 lines)
    // STARTER throw std::runtime_error("add_backward is not written yet");
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("add(Tensor input, Tensor other, float alpha=1) -> Tensor");
    m.def("add_backward(Tensor grad_output, SymInt[] input_size, SymInt[] other_size, "
          "float alpha, bool[2] output_mask) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("add", TORCH_BOX(&forward));
    m.impl("add_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("add", TORCH_BOX(&forward));
    m.impl("add_backward", TORCH_BOX(&backward));
}
#endif
