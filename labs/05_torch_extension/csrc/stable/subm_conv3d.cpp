// SPDX-License-Identifier: MIT
/* subm_conv3d as an operator of PyTorch: torch.ops.convlab.subm_conv3d and .._backward
 *
 * The number of pairs of points depends on the data. The size of a result must not,
 * because a compiled program has to know it. So the rulebook has space for the largest
 * number of pairs, and count has the actual number. All other elements are 0.
 */
#include "bridge.h"

KERNELS(subm_conv3d_forward);
KERNELS(subm_conv3d_backward);

static subm_conv3d_params_t options_of(const Ints &dilation)
{
    if (dilation.size() != 3)
        throw std::runtime_error("'dilation' has " + std::to_string(dilation.size()) +
                                 " numbers, expected 3, for depth, height and width");
    return {dilation[0], dilation[1], dilation[2]};
}

static std::tuple<Tensor, Tensor, Tensor>
forward(const Tensor &features, const Tensor &coordinates, const Tensor &weight,
        const std::optional<Tensor> &bias, const Ints &dilation)
{
    // BEGIN SOLUTION
    const int64_t P = size(features, 0);
    const int64_t PLACES = size(weight, 2) * size(weight, 3) * size(weight, 4);
    Tensor output = empty_like(features, {P, size(weight, 0)});
    Tensor rulebook = empty_like(coordinates, {PLACES, P, 2});
    Tensor count = empty_like(coordinates, {PLACES}, aoti_torch_dtype_int64());
    TORCH_ERROR_CODE_CHECK(aoti_torch_zero_(rulebook.get()));
    run(features, subm_conv3d_forward_check, subm_conv3d_forward_kernels, features,
        coordinates, weight, bias, options_of(dilation), output, rulebook, count);
    return {output, rulebook, count};  // (P, OC) (PLACES, P, 2) (PLACES)
    // END SOLUTION
    // STARTER (void)options_of;  // your code (the reference takes 9 lines)
    // STARTER throw std::runtime_error("subm_conv3d_forward is not written yet");
}

/* Returns gradients of features, weight, bias; an empty tensor for a false output_mask.
 * Only the derivatives of backward need the coordinates: backward uses the rulebook. */
static std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &grad_output, const Tensor &features,
         const Tensor & /*coordinates*/, const Tensor &weight, const Tensor &rulebook,
         const Tensor &count, const Ints &dilation,
         const std::vector<bool> &output_mask)
{
    // BEGIN SOLUTION
    const auto grad_features = wanted(output_mask, 0, features, sizes_of(features));
    const auto grad_weight = wanted(output_mask, 1, weight, sizes_of(weight));
    const auto grad_bias = wanted(output_mask, 2, weight, {size(weight, 0)});
    run(grad_output, subm_conv3d_backward_check, subm_conv3d_backward_kernels,
        grad_output, features, weight, rulebook, count, options_of(dilation),
        grad_features, grad_weight, grad_bias);
    return {or_empty(grad_features, features), or_empty(grad_weight, features),
            or_empty(grad_bias, features)};
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
    // STARTER throw std::runtime_error("subm_conv3d_backward is not written yet");
}

STABLE_TORCH_LIBRARY_FRAGMENT(convlab, m)
{
    m.def("subm_conv3d(Tensor features, Tensor coordinates, Tensor weight, "
          "Tensor? bias=None, SymInt[3] dilation=1) "
          "-> (Tensor output, Tensor rulebook, Tensor count)");
    m.def("subm_conv3d_backward(Tensor grad_output, Tensor features, "
          "Tensor coordinates, Tensor weight, Tensor rulebook, Tensor count, "
          "SymInt[3] dilation, bool[3] output_mask) -> (Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(convlab, CPU, m)
{
    m.impl("subm_conv3d", TORCH_BOX(&forward));
    m.impl("subm_conv3d_backward", TORCH_BOX(&backward));
}

#ifdef CONVLAB_CUDA
STABLE_TORCH_LIBRARY_IMPL(convlab, CUDA, m)
{
    m.impl("subm_conv3d", TORCH_BOX(&forward));
    m.impl("subm_conv3d_backward", TORCH_BOX(&backward));
}
#endif
