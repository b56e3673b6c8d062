// SPDX-License-Identifier: MIT
/* matmul as a Python function: step (a); add.cpp says what such a function lacks
 *
 * <torch/extension.h> includes everything. Two headers are enough: pybind11, and the
 * header that converts tensors. They compile in half the time.
 */
#include "../aten/bridge.h"

#include <pybind11/pybind11.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

KERNELS(matmul_forward);
KERNELS(matmul_backward);

// BEGIN SOLUTION
static Tensor forward(const Tensor &input, const Tensor &other)
{
    auto sizes = input.sizes().vec();  // (..., M, K) becomes (..., M, N)
    if (!sizes.empty()) sizes.back() = other.dim() ? other.sizes().back() : 0;
    Tensor output = at::empty(sizes, input.options());
    run(input, matmul_forward_check, matmul_forward_kernels, input, other, output);
    return output;
}

/* Returns grad_input and grad_other. */
static std::tuple<Tensor, Tensor> backward(const Tensor &grad_output,
                                           const Tensor &input, const Tensor &other)
{
    Tensor grad_input = at::empty(input.sizes(), input.options());
    Tensor grad_other = at::empty(other.sizes(), other.options());
    run(grad_output, matmul_backward_check, matmul_backward_kernels, grad_output, input,
        other, grad_input, grad_other);
    return {grad_input, grad_other};
}
// END SOLUTION
// STARTER static Tensor forward(const Tensor &, const Tensor &)
// STARTER {
// STARTER     // your code (the reference takes 17 lines for both)
// STARTER     throw std::runtime_error("matmul: forward is not written yet");
// STARTER }
// STARTER
// STARTER static std::tuple<Tensor, Tensor> backward(const Tensor &, const Tensor &,
// STARTER                                            const Tensor &)
// STARTER {
// STARTER     throw std::runtime_error("matmul: backward is not written yet");
// STARTER }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    const py::call_guard<py::gil_scoped_release> others_run;  // Python's other threads
    m.def("forward", &forward, others_run, "input @ other, batch sizes equal",
          py::arg("input"), py::arg("other"));
    m.def("backward", &backward, others_run, "gradients of input and other",
          py::arg("grad_output"), py::arg("input"), py::arg("other"));
}
