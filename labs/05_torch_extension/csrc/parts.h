// SPDX-License-Identifier: MIT
/* parts.h - how a large call on the CPU is divided among PyTorch's threads
 *
 * The rungs of add, linear and unfold use one thread. But a part of their output needs
 * only a part of their input. So `run` (run.h) calls the kernel once for each part,
 * with as many threads as torch.set_num_threads says. One thread computes each element
 * of a result, from the same terms in the same order. So any number of threads gives
 * the same result, bit for bit.
 *
 *     for (const cut_t &cut : cuts_of<linear_forward_fn>(tensors)) ...
 *
 * A result is cut along its first axis that is longer than 1. Then each part of it is
 * contiguous, as kernels expect.
 */
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "operators.h"

enum : int32_t { WHOLE = -1, ABSENT = -2 };

/* One round of calls: it divides COUNT units among the threads. axis[i] is the axis
 * along which tensor i of the call is cut. WHOLE: each part gets the whole tensor.
 * ABSENT: this round gets NULL in its place. */
struct cut_t {
    int64_t COUNT;
    std::array<int32_t, 6> axis;
};

using tensors_t = std::array<const tensor_t *, 16>;  // of a call, in its order; or NULL

constexpr int64_t GRAIN = 32768;  // elements: PyTorch starts no thread for fewer

inline int64_t largest_of(const tensors_t &tensors)
{
    int64_t largest = 0;
    for (const tensor_t *t : tensors)
        if (t) largest = std::max(largest, tensor_numel(t));
    return largest;
}

/* Returns the first axis that is longer than 1; the last axis if there is none. */
inline int32_t first_long_axis(const tensor_t &t)
{
    int32_t axis = 0;
    while (axis < t.ndim - 1 && t.size[axis] == 1) axis++;
    return axis;
}

/* Returns the axis of t below an axis of `result`; WHOLE if t broadcasts along it. */
inline int32_t aligned_axis(const tensor_t &t, const tensor_t &result, int32_t axis)
{
    const int32_t own = axis - (result.ndim - t.ndim);
    return own >= 0 && t.size[own] == result.size[axis] ? own : WHOLE;
}

/* Returns the rounds of a call. Without a round the call cannot be divided. */
template <typename Function> std::vector<cut_t> cuts_of(const tensors_t &)
{
    return {};
}

/* input, other; output */
template <> inline std::vector<cut_t> cuts_of<add_forward_fn>(const tensors_t &t)
{
    const tensor_t &output = *t[2];
    if (output.ndim == 0) return {};
    const int32_t axis = first_long_axis(output);
    return {
        {output.size[axis],
         {aligned_axis(*t[0], output, axis), aligned_axis(*t[1], output, axis), axis}}};
}

/* grad_output; grad_input, grad_other. A gradient that sums along the axis is computed
 * whole, in a second round. */
template <> inline std::vector<cut_t> cuts_of<add_backward_fn>(const tensors_t &t)
{
    const tensor_t &grad = *t[0];
    if (grad.ndim == 0) return {};
    const int32_t axis = first_long_axis(grad);
    cut_t parts = {grad.size[axis], {axis, ABSENT, ABSENT}};
    cut_t whole = {1, {WHOLE, ABSENT, ABSENT}};
    for (size_t i = 1; i <= 2; i++) {
        if (!t[i]) continue;
        const int32_t own = aligned_axis(*t[i], grad, axis);
        (own == WHOLE ? whole : parts).axis[i] = own;
    }
    return {parts, whole};  // a round without a gradient costs nothing
}

/* input, weight, bias; output. The rows are divided. */
template <> inline std::vector<cut_t> cuts_of<linear_forward_fn>(const tensors_t &t)
{
    const tensor_t &output = *t[3];
    const int32_t axis = first_long_axis(output);
    if (axis >= output.ndim - 1) return {};  // a single row
    return {{output.size[axis], {axis, WHOLE, WHOLE, axis}}};
}

/* grad_output, input, weight; grad_input, grad_weight, grad_bias. First the rows of
 * grad_input are divided, then the rows of grad_weight, one for each output feature. */
template <> inline std::vector<cut_t> cuts_of<linear_backward_fn>(const tensors_t &t)
{
    const int32_t axis = first_long_axis(*t[0]), last = t[0]->ndim - 1;
    cut_t rows = {t[0]->size[axis], {axis, axis, WHOLE, axis, ABSENT, ABSENT}};
    if (axis == last) rows = {1, {WHOLE, WHOLE, WHOLE, WHOLE, ABSENT, ABSENT}};
    const cut_t features = {t[0]->size[last], {last, WHOLE, 0, ABSENT, 0, 0}};
    return {rows, features};
}

/* image, columns or columns, image: forward and backward have the same type. Images
 * are divided, or the channels of a single image. */
template <> inline std::vector<cut_t> cuts_of<unfold_forward_fn>(const tensors_t &t)
{
    const int32_t axis = t[0]->size[0] == 1 ? 1 : 0;
    return {{std::min(t[0]->size[axis], t[1]->size[axis]), {axis, axis}}};
}

/* Returns how many units are worth a thread. */
inline int64_t grain_of(const cut_t &cut, const tensors_t &tensors)
{
    return cut.COUNT * GRAIN / largest_of(tensors) + 1;
}

/* Makes t the part for units [begin, end) of COUNT: of columns, KH*KW rows a unit. */
inline void narrow(tensor_t *t, int32_t axis, int64_t begin, int64_t end, int64_t COUNT)
{
    const int64_t step = t->size[axis] / COUNT;
    t->data =
        static_cast<char *>(t->data) +
        begin * step * t->stride[axis] * static_cast<int64_t>(dtype_bytes(t->dtype));
    t->size[axis] = (end - begin) * step;
}
