# SPDX-License-Identifier: MIT
"""Derivatives of an operator that is linear in each of two tensors.

matmul, linear and conv2d are all output = product(input, weight) + bias, with a
backward operator that gives three gradients. What calculus says of them is the same:

    forward     product(d input, weight) + product(input, d weight) + d bias
    backward    grad_input  of (grad_output, weight)      linear in both
                grad_weight of (grad_output, input)       linear in both
                grad_bias   of (grad_output)              linear
    twice       so the derivatives of backward are once more products, grad_inputs and
                grad_weights, each with one of its factors replaced

so that it is written once, here. Without a bias (matmul) the third is left out.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from convlab_ext._rules import Rules, total, unread


class Bilinear(Rules):
    """An operator (input, weight, bias, options...) -> output."""

    biased = True  # whether it has an argument `bias`

    def product(self, input: Tensor, weight: Tensor, options: Any) -> Tensor:
        """The operator without a bias."""
        none = [None] if self.biased else []
        return self.operator(input, weight, *none, *options)

    def gradients(self, factors: Any, options: Any, mask: Any) -> tuple[Tensor, ...]:
        """By its backward operator, from grad_output, input and weight."""
        backward = getattr(self.ops, f"{self.name}_backward")
        return backward(*factors, *options, list(mask))

    def spread(self, bias: Tensor, sizes: Any) -> Tensor:
        """A bias along the axes of output, as it is added."""
        return bias.expand(sizes)

    def setup_context(self, ctx: Any, inputs: Any, output: Tensor) -> None:
        """A gradient needs the other factor: what no gradient needs is not kept."""
        # BEGIN SOLUTION
        input, weight = inputs[:2]
        of_input, of_weight = ctx.needs_input_grad[:2]
        kept = input if of_weight else None, weight if of_input else None
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(input, weight)  # until the tangents are computed
        ctx.shapes = input.shape, weight.shape
        ctx.tensors = 2 + self.biased
        ctx.options = inputs[ctx.tensors :]
        ctx.sizes = output.shape
        # END SOLUTION
        # STARTER # your code (the reference takes 9 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        """One call gives the gradients that are wanted."""
        # BEGIN SOLUTION
        mask = ctx.needs_input_grad[: ctx.tensors]
        # sum() hands back one number, stretched: the kernels take that, but slowly
        grad_output = grad_output.contiguous()
        kept = zip(ctx.saved_tensors, ctx.shapes)
        factors = grad_output, *(unread(t, s, grad_output) for t, s in kept)
        found = self.gradients(factors, ctx.options, mask)
        none = [None] * len(ctx.options)
        return (*(g if want else None for g, want in zip(found, mask)), *none)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx: Any, *tangents: Any) -> Tensor | None:
        """The product rule."""
        # BEGIN SOLUTION
        input, weight = ctx.saved_tensors
        d_input, d_weight, d_bias = (*tangents[: ctx.tensors], None)[:3]
        of_input = of_weight = of_bias = None
        if d_input is not None:
            of_input = self.product(d_input, weight, ctx.options)
        if d_weight is not None:
            of_weight = self.product(input, d_weight, ctx.options)
        if d_bias is not None:
            of_bias = self.spread(d_bias, ctx.sizes)
        return total(of_input, of_weight, of_bias)
        # END SOLUTION
        # STARTER # your code (the reference takes 10 lines)
        # STARTER raise NotImplementedError


class BilinearBackward(Rules):
    """(grad_output, input, weight, options..., output_mask) -> two or three gradients.

    `of` has the rules of the operator whose backward it is.
    """

    def __init__(self, of: Bilinear) -> None:
        """The backward operator of `of`."""
        self.name = f"{of.name}_backward"
        super().__init__(of.namespace)
        self.of = of

    def fake(self, grad_output: Tensor, *arguments: Any) -> tuple[Tensor, ...]:
        """One empty tensor for each."""
        # BEGIN SOLUTION
        input, weight, *_, mask = arguments
        return tuple(input.new_empty(s) for s in self.sizes(input, weight, mask))
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def sizes(self, input: Tensor, weight: Tensor, mask: Any) -> list[Any]:
        """Of the gradients of input, weight and bias; (0) where one is not wanted."""
        sizes = input.shape, weight.shape, weight.shape[:1]
        return [size if want else [0] for size, want in zip(sizes, mask)]

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        """All three factors are needed again."""
        # BEGIN SOLUTION
        ctx.save_for_backward(*inputs[:3])
        ctx.save_for_forward(*inputs[:3])
        *ctx.options, ctx.mask = inputs[3:]
        ctx.set_materialize_grads(False)
        # END SOLUTION
        # STARTER # your code (the reference takes 4 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """From gradients of grad_input, grad_weight and grad_bias."""
        # BEGIN SOLUTION
        grad_output, input, weight = ctx.saved_tensors
        to_input, to_weight, to_bias = (
            (*(g if want else None for g, want in zip(grads, ctx.mask)), None)
        )[:3]
        needed = ctx.needs_input_grad
        of_output, of_input, of_weight = [], None, None
        if to_input is not None and needed[0]:
            of_output.append(self.of.product(to_input, weight, ctx.options))
        if to_weight is not None and needed[0]:
            of_output.append(self.of.product(input, to_weight, ctx.options))
        if to_bias is not None and needed[0]:
            of_output.append(self.of.spread(to_bias, grad_output.shape))
        if to_weight is not None and needed[1]:
            of_input = self.one(0, (grad_output, input, to_weight), ctx)
        if to_input is not None and needed[2]:
            of_weight = self.one(1, (grad_output, to_input, weight), ctx)
        rest = [None] * (len(ctx.options) + 1)
        return total(*of_output), of_input, of_weight, *rest
        # END SOLUTION
        # STARTER # your code (the reference takes 18 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx: Any, *tangents: Any) -> tuple[Tensor | None, ...]:
        """The product rule for each gradient that is wanted."""
        # BEGIN SOLUTION
        grad_output, input, weight = ctx.saved_tensors
        d_output, d_input, d_weight = tangents[:3]
        found: list[Any] = [None] * len(ctx.mask)
        if d_output is not None:
            factors = d_output, input, weight
            found = list(self.of.gradients(factors, ctx.options, ctx.mask))
        if d_weight is not None and ctx.mask[0]:
            more = self.one(0, (grad_output, input, d_weight), ctx)
            found[0] = total(found[0], more)
        if d_input is not None and ctx.mask[1]:
            more = self.one(1, (grad_output, d_input, weight), ctx)
            found[1] = total(found[1], more)
        sizes = self.sizes(input, weight, ctx.mask)
        return tuple(
            input.new_zeros(size) if tangent is None else tangent
            for tangent, size in zip(found, sizes)
        )
        # END SOLUTION
        # STARTER # your code (the reference takes 17 lines)
        # STARTER raise NotImplementedError

    def one(self, which: int, factors: Any, ctx: Any) -> Tensor:
        """grad_input (0) or grad_weight (1) of other factors, and nothing else."""
        mask = [i == which for i in range(len(ctx.mask))]
        return self.of.gradients(factors, ctx.options, mask)[which]
