// SPDX-License-Identifier: MIT
/* 04 rows in batches
 *
 *   does     linear with a rule for torch.vmap: each model has its own weights
 *   seen     pytorch/functorch issue 338 (2021): the rule for a convolution was wrong
 *            in two ways that no test covered
 *   passes   layers without a bias; a bias that all examples share
 *   run      make grade T=05_torch_extension/bug_hunt/04
 *
 * The C++ side. The rules are in 04_rows_in_batches.py.
 */
#include "bridge.h"

KERNELS(linear_forward);
KERNELS(linear_backward);

/* The result keeps the leading axes of rows. Its last axis is the filters. */
static Tensor forward(const Tensor &rows, const Tensor &filters,
                      const std::optional<Tensor> &bias)
{
    Ints made_sizes = sizes_of(rows);
    if (rows.dim() > 0) made_sizes[made_sizes.size() - 1] = size(filters, 0);
    Tensor made = empty_like(rows, made_sizes);
    run(rows, linear_forward_check, linear_forward_kernels, rows, filters, bias, made);
    return made;
}

/* Returns the gradients that `mask` requests; other gradients are empty tensors. */
static std::tuple<Tensor, Tensor, Tensor> backward(const Tensor &gradient,
                                                   const Tensor &rows,
                                                   const Tensor &filters,
                                                   const std::vector<bool> &mask)
{
    const auto to_rows = wanted(mask, 0, rows, sizes_of(rows));
    const auto to_filters = wanted(mask, 1, filters, sizes_of(filters));
    const auto to_bias = wanted(mask, 2, filters, {size(filters, 0)});
    run(gradient, linear_backward_check, linear_backward_kernels, gradient, rows,
        filters, to_rows, to_filters, to_bias);
    return {or_empty(to_rows, rows), or_empty(to_filters, rows),
            or_empty(to_bias, rows)};
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor");
    m.def("linear_backward(Tensor grad_output, Tensor input, Tensor weight, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("linear", TORCH_BOX(&forward));
    m.impl("linear_backward", TORCH_BOX(&backward));
}
