# SPDX-License-Identifier: MIT
"""gelu: the public function, and the rules of the operators gelu, gelu_backward.

Every number of the output depends on one number of the input, so the tangent of the
output is what backward makes of the tangent of the input. gelu is not linear: of
gelu_backward, which is grad_output * slope(input), the derivative to input needs the
slope of the slope, and that is the one formula here (`curvature`).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from convlab_ext._refusals import must_be_dense, must_be_tensor
from convlab_ext._rules import (
    Rules,
    as_in_memory,
    convlab,
    in_front,
    is_row_major,
    register,
    same_kind,
    total,
)

FORMS = ("none", "tanh")
SQRT_2_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715  # fitted by the paper: arXiv 1606.08415
FAR = 100.0  # from here on, the second derivative rounds to 0, also in float64


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """torch.nn.functional.gelu by convlab's kernels; the layout stays as it is."""
    must_be_tensor("gelu", "input", input)
    if is_row_major(input):
        return convlab.gelu(input, approximate)
    must_be_dense("gelu", input=input)
    order, back = as_in_memory(input)
    return convlab.gelu(input.permute(order), approximate).permute(back)


def curvature(input: Tensor, approximate: str) -> Tensor:
    """The second derivative of gelu, by operators that autograd knows.

    With share(x) the factor of x in output, gelu'' = 2 * share' + x * share''.
    """
    # BEGIN SOLUTION
    input = input.clamp(-FAR, FAR)  # the powers of larger numbers overflow
    square = input * input
    if approximate == "none":  # share' is the density of the normal distribution
        return torch.exp(-square / 2) * (2 - square) * (SQRT_2_PI / 2)
    squashed = torch.tanh(SQRT_2_PI * input * (1 + CUBIC * square))
    inner = SQRT_2_PI * (1 + 3 * CUBIC * square)  # slope of tanh's argument
    bend = 6 * SQRT_2_PI * CUBIC * input  # and that one's slope
    steep = 1 - squashed * squashed
    return steep * (inner + input * (bend / 2 - squashed * inner * inner))
    # END SOLUTION
    # STARTER # your code (the reference takes 9 lines)
    # STARTER raise NotImplementedError


def like(input: Tensor, approximate: str) -> Tensor:
    """An empty tensor as large as input; a form that does not exist is refused."""
    known = approximate in FORMS
    torch._check(known, lambda: f"'approximate' must be one of {FORMS}")
    return input.new_empty(input.shape)


class Gelu(Rules):
    """gelu(input, approximate) -> output."""

    name = "gelu"

    def fake(self, input, approximate):
        """As large as input; a form that does not exist is refused."""
        # BEGIN SOLUTION
        same_kind(input)
        return like(input, approximate)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """The input, and which form."""
        # BEGIN SOLUTION
        input, ctx.approximate = inputs
        ctx.save_for_backward(input)
        ctx.save_for_forward(input)
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, grad_output):
        """grad_output times the slope."""
        # BEGIN SOLUTION
        (input,) = ctx.saved_tensors
        return self.ops.gelu_backward(grad_output, input, ctx.approximate), None
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_input, _):
        """The slope times d_input: the same product."""
        # BEGIN SOLUTION
        (input,) = ctx.saved_tensors
        return self.ops.gelu_backward(d_input, input, ctx.approximate)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, approximate):
        """The output has the axis of examples where the input has it, in_dims[0]."""
        # BEGIN SOLUTION
        return self.operator(input, approximate), in_dims[0]
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError


class GeluBackward(Rules):
    """gelu_backward(grad_output, input, approximate) -> grad_input."""

    name = "gelu_backward"

    def fake(self, grad_output, input, approximate):
        """As large as input, and as grad_output."""
        # BEGIN SOLUTION
        fits = grad_output.shape == input.shape
        torch._check(fits, lambda: f"'grad_output' must be {tuple(input.shape)}")
        same_kind(grad_output, input)
        return like(input, approximate)
        # END SOLUTION
        # STARTER # your code (the reference takes 4 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """Both factors, and which form."""
        # BEGIN SOLUTION
        *factors, ctx.approximate = inputs
        ctx.save_for_backward(*factors)
        ctx.save_for_forward(*factors)
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, to_input):
        """It is linear in grad_output, and in input it has the curvature."""
        # BEGIN SOLUTION
        grad_output, input = ctx.saved_tensors
        of_output = of_input = None
        if ctx.needs_input_grad[0]:
            of_output = self.operator(to_input, input, ctx.approximate)
        if ctx.needs_input_grad[1]:
            of_input = to_input * grad_output * curvature(input, ctx.approximate)
        return of_output, of_input, None
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_output, d_input, _):
        """The product rule for grad_output * slope(input)."""
        # BEGIN SOLUTION
        grad_output, input = ctx.saved_tensors
        of_output = of_input = None
        if d_output is not None:
            of_output = self.operator(d_output, input, ctx.approximate)
        if d_input is not None:
            of_input = d_input * grad_output * curvature(input, ctx.approximate)
        return total(of_output, of_input)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, grad_output, input, approximate):
        """The batch axis leads in both."""
        # BEGIN SOLUTION
        pair = zip((grad_output, input), in_dims)
        grads, inputs = (in_front(t, d, info.batch_size) for t, d in pair)
        return self.operator(grads, inputs, approximate), 0
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    register(Gelu(namespace))
    register(GeluBackward(namespace))
