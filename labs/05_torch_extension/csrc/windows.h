// SPDX-License-Identifier: MIT
/* windows.h - options and sizes of operators that slide a window: unfold, conv2d and
 * depthwise_conv2d */
#pragma once

#include <stdexcept>
#include <string>

#include "operators.h"

/* Returns the number of an option for axis 0 (height) or 1 (width). The schema says
 * int[2], but PyTorch also accepts lists of other lengths. */
template <typename List>
int64_t along(int axis, const char *option, const List &numbers)
{
    if (numbers.size() != 2)
        throw std::runtime_error(std::string("'") + option + "' has " +
                                 std::to_string(numbers.size()) +
                                 " numbers, expected 2, for height and width");
    return numbers[axis];
}

/* Sets stride, padding and dilation in p, for unfold and the two convolutions. */
template <typename Params, typename List>
void set_windows(Params &p, const List &stride, const List &padding,
                 const List &dilation)
{
    p.stride_h = along(0, "stride", stride);
    p.stride_w = along(1, "stride", stride);
    p.padding_h = along(0, "padding", padding);
    p.padding_w = along(1, "padding", padding);
    p.dilation_h = along(0, "dilation", dilation);
    p.dilation_w = along(1, "dilation", dilation);
}

template <typename List>
unfold_params_t unfold_options(const List &kernel_size, const List &dilation,
                               const List &padding, const List &stride)
{
    unfold_params_t p = {};
    p.kernel_h = along(0, "kernel_size", kernel_size);
    p.kernel_w = along(1, "kernel_size", kernel_size);
    set_windows(p, stride, padding, dilation);
    return p;
}

template <typename List>
conv2d_params_t conv2d_options(const List &stride, const List &padding,
                               const List &dilation, int64_t groups)
{
    conv2d_params_t p = {};
    set_windows(p, stride, padding, dilation);
    p.groups = groups;
    return p;
}

template <typename List>
depthwise_conv2d_params_t depthwise_options(const List &stride, const List &padding,
                                            const List &dilation)
{
    depthwise_conv2d_params_t p = {};
    set_windows(p, stride, padding, dilation);
    return p;
}

/* Returns OH or OW. The output is allocated before the argument check. If the check is
 * going to refuse the options, the size is 0. */
static inline int64_t windows(int64_t in, int64_t kernel, int64_t stride,
                              int64_t padding, int64_t dilation)
{
    const int64_t most = 1 << 20;  // MAX_OPTION of arguments.h
    if (kernel < 1 || stride < 1 || padding < 0 || dilation < 1) return 0;
    if (stride > most || padding > most || dilation > most) return 0;
    return conv2d_extent(in, kernel, stride, padding, dilation);
}
