// SPDX-License-Identifier: MIT
/* unfold as an operator of PyTorch: torch.ops.convlab.unfold and unfold_backward
 *
 * unfold_backward (col2im) is torch.nn.functional.fold. Several image sizes unfold to
 * columns of the same size. So backward gets the image size, as fold does.
 */
#include "bridge.h"

#include "../windows.h"

KERNELS(unfold_forward);
KERNELS(unfold_backward);

static Tensor forward(const Tensor &input, const Ints &kernel_size,
                      const Ints &dilation, const Ints &padding, const Ints &stride)
{
    // BEGIN SOLUTION
    const unfold_params_t p = unfold_options(kernel_size, dilation, padding, stride);
    const int64_t OH =
        windows(size(input, 2), p.kernel_h, p.stride_h, p.padding_h, p.dilation_h);
    const int64_t OW =
        windows(size(input, 3), p.kernel_w, p.stride_w, p.padding_w, p.dilation_w);
    const int64_t rows = OH && OW ? size(input, 1) * p.kernel_h * p.kernel_w : 0;
    Tensor output = empty_like(input, {size(input, 0), rows, OH * OW});
    run(input, unfold_forward_check, unfold_forward_kernels, input, p, output);
    return output;  // (N, IC*KH*KW, OH*OW)
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
    // STARTER throw std::runtime_error("unfold_forward is not written yet");
}

/* Returns the gradient of the image, of height and width input_size. Autograd calls it
 * only if the gradient is wanted. */
static Tensor backward(const Tensor &grad_output, const Ints &input_size,
                       const Ints &kernel_size, const Ints &dilation,
                       const Ints &padding, const Ints &stride)
{
    // BEGIN SOLUTION
    const unfold_params_t p = unfold_options(kernel_size, dilation, padding, stride);
    const int64_t taps = p.kernel_h > 0 && p.kernel_w > 0 ? p.kernel_h * p.kernel_w : 1;
    const int64_t IC = size(grad_output, 1) / taps;
    const int64_t IH = along(0, "input_size", input_size);
    const int64_t IW = along(1, "input_size", input_size);
    Tensor grad_input = empty_like(grad_output, {size(grad_output, 0), IC, IH, IW});
    run(grad_output, unfold_backward_check, unfold_backward_kernels, grad_output, p,
        grad_input);
    return grad_input;  // (N, IC, IH, IW)
    // END SOLUTION
    // STARTER // your code (the reference takes 9 lines)
    // STARTER throw std::runtime_error("unfold_backward is not written yet");
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("unfold(Tensor input, SymInt[2] kernel_size, SymInt[2] dilation=1, "
          "SymInt[2] padding=0, SymInt[2] stride=1) -> Tensor");
    m.def("unfold_backward(Tensor grad_output, SymInt[2] input_size, "
          "SymInt[2] kernel_size, SymInt[2] dilation, SymInt[2] padding, "
          "SymInt[2] stride) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("unfold", TORCH_BOX(&forward));
    m.impl("unfold_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("unfold", TORCH_BOX(&forward));
    m.impl("unfold_backward", TORCH_BOX(&backward));
}
#endif
