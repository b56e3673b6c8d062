// SPDX-License-Identifier: MIT
/* lltm as an operator of PyTorch: torch.ops.convlab.lltm and lltm_backward
 *
 * The operator has three results: new_h, new_c and gates. Backward needs the gates. The
 * public function does not return the gates.
 */
#include "bridge.h"

KERNELS(lltm_forward);
KERNELS(lltm_backward);

/* Returns new_h, new_c and gates. */
static std::tuple<Tensor, Tensor, Tensor> forward(const Tensor &input,
                                                  const Tensor &weight,
                                                  const Tensor &bias, const Tensor &h,
                                                  const Tensor &c)
{
    // BEGIN SOLUTION
    const int64_t N = size(h, 0), H = size(h, 1);
    Tensor new_h = empty_like(h, {N, H}), new_c = empty_like(h, {N, H});
    Tensor gates = empty_like(h, {N, 3 * H});
    run(input, lltm_forward_check, lltm_forward_kernels, input, weight, bias, h, c,
        new_h, new_c, gates);
    return {new_h, new_c, gates};
    // END SOLUTION
    // STARTER // your code (the reference takes 6 lines)
    // STARTER throw std::runtime_error("lltm_forward is not written yet");
}

/* Returns the gradients of input, weight, bias, h and c; an empty tensor for each false
 * in output_mask. */
static std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
backward(const Tensor &grad_new_h, const Tensor &grad_new_c, const Tensor &input,
         const Tensor &weight, const Tensor &h, const Tensor &new_c,
         const Tensor &gates, const std::vector<bool> &output_mask)
{
    // BEGIN SOLUTION
    const auto grad_input = wanted(output_mask, 0, input, sizes_of(input));
    const auto grad_weight = wanted(output_mask, 1, weight, sizes_of(weight));
    const auto grad_bias = wanted(output_mask, 2, weight, {size(weight, 0)});
    const auto grad_h = wanted(output_mask, 3, h, sizes_of(h));
    const auto grad_c = wanted(output_mask, 4, h, sizes_of(h));
    run(grad_new_h, lltm_backward_check, lltm_backward_kernels, grad_new_h, grad_new_c,
        input, weight, h, new_c, gates, grad_input, grad_weight, grad_bias, grad_h,
        grad_c);
    return {or_empty(grad_input, input), or_empty(grad_weight, input),
            or_empty(grad_bias, input), or_empty(grad_h, input),
            or_empty(grad_c, input)};
    // END SOLUTION
    // STARTER // your code (the reference takes 11 lines)
    // STARTER throw std::runtime_error("lltm_backward is not written yet");
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("lltm(Tensor input, Tensor weight, Tensor bias, Tensor h, Tensor c) "
          "-> (Tensor, Tensor, Tensor)");
    m.def("lltm_backward(Tensor grad_new_h, Tensor grad_new_c, Tensor input, "
          "Tensor weight, Tensor h, Tensor new_c, Tensor gates, bool[5] output_mask) "
          "-> (Tensor, Tensor, Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("lltm", TORCH_BOX(&forward));
    m.impl("lltm_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("lltm", TORCH_BOX(&forward));
    m.impl("lltm_backward", TORCH_BOX(&backward));
}
#endif
