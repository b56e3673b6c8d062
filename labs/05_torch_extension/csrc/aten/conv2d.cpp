// SPDX-License-Identifier: MIT
/* conv2d as an operator of PyTorch: torch.ops.convlab_aten.conv2d, ..._backward
 *
 * This file has the schema, the output sizes and one call for each direction. The same
 * function serves CPU and GPU: `run` chooses the kernel by the tensor.
 */
#include "bridge.h"

#include "../windows.h"

KERNELS(conv2d_forward);
KERNELS(conv2d_backward);

static Tensor forward(const Tensor &input, const Tensor &weight,
                      const std::optional<Tensor> &bias, const Ints &stride,
                      const Ints &padding, const Ints &dilation, int64_t groups)
{
    // BEGIN SOLUTION
    const conv2d_params_t p = conv2d_options(stride, padding, dilation, groups);
    const int64_t OH =
        windows(size(input, 2), size(weight, 2), p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        windows(size(input, 3), size(weight, 3), p.stride_w, p.padding_w, p.dilation_w);
    Tensor output = empty_like(input, {size(input, 0), size(weight, 0), OH, OW});
    run(input, conv2d_forward_check, conv2d_forward_kernels, input, weight, bias, p,
        output);
    return output;  // (N, OC, OH, OW)
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
    // STARTER throw std::runtime_error("conv2d_forward is not written yet");
}

/* Returns gradients of input, weight, bias; an empty tensor for a false output_mask. */
static std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &grad_output, const Tensor &input, const Tensor &weight,
         const Ints &stride, const Ints &padding, const Ints &dilation, int64_t groups,
         std::array<bool, 3> output_mask)
{
    // BEGIN SOLUTION
    const conv2d_params_t p = conv2d_options(stride, padding, dilation, groups);
    const auto grad_input = wanted(output_mask, 0, input, sizes_of(input));
    const auto grad_weight = wanted(output_mask, 1, weight, sizes_of(weight));
    const auto grad_bias = wanted(output_mask, 2, weight, {size(weight, 0)});
    run(grad_output, conv2d_backward_check, conv2d_backward_kernels, grad_output, input,
        weight, p, grad_input, grad_weight, grad_bias);
    return {or_empty(grad_input, input), or_empty(grad_weight, input),
            or_empty(grad_bias, input)};
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER throw std::runtime_error("conv2d_backward is not written yet");
}

/* Turns the kernels without Winograd on or off; nullopt changes nothing. Returns the
 * previous setting. The operator takes no tensor, so it has no device. */
static bool direct(std::optional<bool> on)
{
    return keep_direct(on, conv2d_forward_kernels, conv2d_backward_kernels);
}

TORCH_LIBRARY_FRAGMENT(convlab_aten, m)
{
    m.def("conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
          "SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor");
    m.def("conv2d_backward(Tensor grad_output, Tensor input, Tensor weight, "
          "SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation, SymInt groups, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
    m.def("conv2d_direct(bool? on) -> bool");
}

TORCH_LIBRARY_IMPL(convlab_aten, CompositeExplicitAutograd, m)
{
    m.impl("conv2d_direct", &direct);
}

TORCH_LIBRARY_IMPL(convlab_aten, CPU, m)
{
    m.impl("conv2d", &forward);
    m.impl("conv2d_backward", &backward);
}

#ifdef CONVLAB_CUDA
TORCH_LIBRARY_IMPL(convlab_aten, CUDA, m)
{
    m.impl("conv2d", &forward);
    m.impl("conv2d_backward", &backward);
}
#endif
