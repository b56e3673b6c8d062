// SPDX-License-Identifier: MIT
/* 02 traced sizes
 *
 *   does     conv2d with a fake kernel, which gives sizes to torch.compile and export
 *   seen     pytorch/pytorch pull request 187760 (2026) and tenstorrent/tt-metal pull
 *            request 19542 (2025): some convolutions were traced with a wrong width
 *   passes   the layers of most networks; all calls in eager mode
 *   run      make grade T=05_torch_extension/bug_hunt/02
 *
 * The C++ side. The rules are in 02_traced_sizes.py.
 */
#include "bridge.h"

KERNELS(conv2d_forward);
KERNELS(conv2d_backward);

/* Height comes first in each pair of the schema, as in the options struct. */
static conv2d_params_t options_from(const Ints &stride, const Ints &padding,
                                    const Ints &dilation, int64_t groups)
{
    if (stride.size() != 2 || padding.size() != 2 || dilation.size() != 2)
        throw std::runtime_error("conv2d: an option needs a number for each axis");
    conv2d_params_t options = {};
    options.stride_h = stride[0], options.stride_w = stride[1];
    options.padding_h = padding[0], options.padding_w = padding[1];
    options.dilation_h = dilation[0], options.dilation_w = dilation[1];
    options.groups = groups;
    return options;
}

/* Returns the number of windows along an axis, or 0 if sizes or options are invalid.
 * Then the argument check writes the error message. */
static int64_t count_along(const Tensor &image, const Tensor &filters, int64_t axis,
                           int64_t stride, int64_t padding, int64_t dilation)
{
    if (stride < 1) return 0;
    return conv2d_extent(size(image, axis), size(filters, axis), stride, padding,
                         dilation);
}

static Tensor forward(const Tensor &image, const Tensor &filters,
                      const std::optional<Tensor> &bias, const Ints &stride,
                      const Ints &padding, const Ints &dilation, int64_t groups)
{
    const conv2d_params_t o = options_from(stride, padding, dilation, groups);
    const int64_t rows =
        count_along(image, filters, 2, o.stride_h, o.padding_h, o.dilation_h);
    const int64_t columns =
        count_along(image, filters, 3, o.stride_w, o.padding_w, o.dilation_w);
    Tensor made = empty_like(image, {size(image, 0), size(filters, 0), rows, columns});
    run(image, conv2d_forward_check, conv2d_forward_kernels, image, filters, bias, o,
        made);
    return made;
}

/* Returns the gradients that `mask` requests; other gradients are empty tensors. */
static std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &gradient, const Tensor &image, const Tensor &filters,
         const Ints &stride, const Ints &padding, const Ints &dilation, int64_t groups,
         const std::vector<bool> &mask)
{
    const conv2d_params_t o = options_from(stride, padding, dilation, groups);
    const auto to_image = wanted(mask, 0, image, sizes_of(image));
    const auto to_filters = wanted(mask, 1, filters, sizes_of(filters));
    const auto to_bias = wanted(mask, 2, filters, {size(filters, 0)});
    run(gradient, conv2d_backward_check, conv2d_backward_kernels, gradient, image,
        filters, o, to_image, to_filters, to_bias);
    return {or_empty(to_image, image), or_empty(to_filters, image),
            or_empty(to_bias, image)};
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("conv2d(Tensor input, Tensor weight, Tensor? bias, SymInt[2] stride, "
          "SymInt[2] padding, SymInt[2] dilation, SymInt groups) -> Tensor");
    m.def("conv2d_backward(Tensor grad_output, Tensor input, Tensor weight, "
          "SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation, SymInt groups, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("conv2d", TORCH_BOX(&forward));
    m.impl("conv2d_backward", TORCH_BOX(&backward));
}
