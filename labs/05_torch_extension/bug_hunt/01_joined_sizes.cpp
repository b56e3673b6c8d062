// SPDX-License-Identifier: MIT
/* 01 joined sizes
 *
 *   does     add: computes the size of the output from both operands; then a kernel
 *   seen     tracel-ai/burn issue 5334 and flagos-ai/FlagGems pull request 6024 (2026):
 *            valid operands were refused, or gave a result of the wrong shape
 *   passes   the tensors of most programs, stretched or not
 *   run      make grade T=05_torch_extension/bug_hunt/01
 */
#include "bridge.h"

#include <algorithm>

KERNELS(add_forward);
KERNELS(add_backward);

/* Returns the size of an axis, counted from the end: number 1 is the last axis. If the
 * tensor lacks this axis, the size is 1. */
static int64_t size_from_end(const Tensor &tensor, int64_t number)
{
    return number > tensor.dim() ? 1 : tensor.size(tensor.dim() - number);
}

/* Returns the common sizes of two operands. The argument check refuses other sizes. */
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

static Tensor forward(const Tensor &left, const Tensor &right, double alpha)
{
    Tensor sum = empty_like(left, joined(left, right));
    const add_params_t options = {alpha};
    run(left, add_forward_check, add_forward_kernels, left, right, options, sum);
    return sum;
}

/* The kernel sums each gradient to the sizes of its operand. */
static std::tuple<Tensor, Tensor> backward(const Tensor &gradient, const Ints &left,
                                           const Ints &right, double alpha,
                                           const std::vector<bool> &mask)
{
    const add_params_t options = {alpha};
    const auto to_left = wanted(mask, 0, gradient, left);
    const auto to_right = wanted(mask, 1, gradient, right);
    run(gradient, add_backward_check, add_backward_kernels, gradient, options, to_left,
        to_right);
    return {or_empty(to_left, gradient), or_empty(to_right, gradient)};
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("add(Tensor input, Tensor other, float alpha) -> Tensor");
    m.def("add_backward(Tensor grad_output, SymInt[] input_size, SymInt[] other_size, "
          "float alpha, bool[2] output_mask) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("add", TORCH_BOX(&forward));
    m.impl("add_backward", TORCH_BOX(&backward));
}
