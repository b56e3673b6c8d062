# SPDX-License-Identifier: MIT
"""add: the public function, and the rules of the operators add, add_backward.

Both are linear, so a tangent goes the way of the values, and backward of backward is
forward. The operands stretch (broadcast); that is all there is to think about.

../first_autograd.py gives add a gradient by torch.library.register_autograd, and shows
what such an operator lacks. setup_context and backward are here what they are there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from convlab_ext._refusals import (
    is_number,
    must_be_dense,
    must_be_right,
    must_be_tensor,
    shown,
)
from convlab_ext._rules import (
    Rules,
    as_in_memory,
    broadcast,
    convlab,
    in_front,
    is_row_major,
    register,
    same_kind,
)


def add(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """torch.add by convlab's kernels: other may be a number, dtypes are promoted."""
    must_be_tensor("add", "input", input)
    whole = isinstance(other, Tensor) and other.dtype == input.dtype and other.dim() > 0
    if not whole:
        input, other = promoted(input, other)
    if is_row_major(input) and is_row_major(other):
        return convlab.add(input, other, alpha)
    return in_layout(input, other, alpha)


def in_layout(input: Tensor, other: Tensor, alpha: float) -> Tensor:
    """The sum in the layout of the first operand that has its sizes, as PyTorch's."""
    must_be_dense("add", input=input, other=other)
    count = max(input.dim(), other.dim())
    left, right = filled(input[None], count)[0], filled(other[None], count)[0]
    sizes = [a if b == 1 else b for a, b in zip(left.shape, right.shape)]
    whole = next((t for t in (left, right) if list(t.shape) == sizes), None)
    if whole is None:
        return convlab.add(input, other, alpha)
    order, back = as_in_memory(whole)
    return convlab.add(left.permute(order), right.permute(order), alpha).permute(back)


def promoted(input: Tensor, other: Tensor | float) -> tuple[Tensor, Tensor]:
    """Both as tensors of one dtype; a number also on the same device. Dtypes that
    PyTorch does not promote are refused.
    """
    number = not isinstance(other, Tensor)
    if number and (not is_number(other) or getattr(other, "shape", ())):
        said = f"add: 'other' is {shown(other)}, expected a tensor or a number"
        raise TypeError(said)
    dtype = input.dtype
    try:
        if number or other.dtype != dtype:
            dtype = torch.result_type(input, other)
    except RuntimeError:
        must_be_right("add", ("input", "Tensor", input), ("other", "Tensor", other))
        raise
    if number:
        return input.to(dtype), torch.full((), other, dtype=dtype, device=input.device)
    if other.dim() == 0:  # a number in a tensor may come from the CPU
        other = other.to(input.device)
    return input.to(dtype), other.to(dtype)


class Add(Rules):
    """add(input, other, alpha) -> input + alpha * other."""

    name = "add"

    def fake(self, input, other, alpha):
        """Both stretched."""
        # BEGIN SOLUTION
        same_kind(input, other)
        return input.new_empty(broadcast(input, other))
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """Sizes are enough."""
        # BEGIN SOLUTION
        input, other, ctx.alpha = inputs
        ctx.sizes = input.shape, other.shape
        ctx.output = output.shape
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, grad_output):
        """Each operand's gradient is summed to its own size."""
        # BEGIN SOLUTION
        mask = list(ctx.needs_input_grad[:2])
        found = self.ops.add_backward(grad_output, *ctx.sizes, ctx.alpha, mask)
        return (*(g if want else None for g, want in zip(found, mask)), None)
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_input, d_other, _):
        """The sum of the tangents; one that is missing is zero."""
        # BEGIN SOLUTION
        if d_other is None:
            return d_input.expand(ctx.output)
        if d_input is None:
            d_input = d_other.new_zeros(ctx.output)
        return self.operator(d_input, d_other, ctx.alpha).expand(ctx.output)
        # END SOLUTION
        # STARTER # your code (the reference takes 5 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, other, alpha):
        """The batch axis leads; operands are aligned at the last, so ones fill up."""
        # BEGIN SOLUTION
        axes = [t.dim() - (d is not None) for t, d in zip((input, other), in_dims)]
        inputs, others = (
            t if d is None else filled(t.movedim(d, 0), max(axes))
            for t, d in zip((input, other), in_dims)
        )
        return self.operator(inputs, others, alpha), 0
        # END SOLUTION
        # STARTER # your code (the reference takes 6 lines)
        # STARTER raise NotImplementedError


class AddBackward(Rules):
    """add_backward(grad_output, input_size, other_size, alpha, output_mask) -> two."""

    name = "add_backward"

    def fake(self, grad_output, input_size, other_size, alpha, mask):
        """The sizes as told; (0) where a gradient is not wanted."""
        # BEGIN SOLUTION
        sizes = input_size, other_size
        return tuple(grad_output.new_empty(s if m else 0) for s, m in zip(sizes, mask))
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """The options."""
        # BEGIN SOLUTION
        grad_output, *ctx.options = inputs
        ctx.sizes = grad_output.shape
        ctx.set_materialize_grads(False)
        # END SOLUTION
        # STARTER # your code (the reference takes 3 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, to_input, to_other):
        """Forward: input's gradient plus alpha times other's, stretched."""
        # BEGIN SOLUTION
        _, _, alpha, mask = ctx.options
        to_input, to_other = (
            g if m else None for g, m in zip((to_input, to_other), mask)
        )
        if to_input is None and to_other is None:
            return None, None, None, None, None
        if to_other is None:
            found = to_input
        else:
            zero = to_other.new_zeros(())
            found = self.ops.add(
                zero if to_input is None else to_input, to_other, alpha
            )
        return found.expand(ctx.sizes), None, None, None, None
        # END SOLUTION
        # STARTER # your code (the reference takes 14 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_output, *_):
        """It is linear."""
        # BEGIN SOLUTION
        return self.operator(d_output, *ctx.options)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, grad_output, input_size, other_size, alpha, mask):
        """The batch axis leads in grad_output and in what is wanted."""
        # BEGIN SOLUTION
        B = info.batch_size
        grads = in_front(grad_output, in_dims[0], B)
        ones = [[1] * (grads.dim() - 1 - len(s)) for s in (input_size, other_size)]
        sizes = [B, *ones[0], *input_size], [B, *ones[1], *other_size]
        found = list(self.operator(grads, *sizes, alpha, mask))
        for i, size in enumerate((input_size, other_size)):
            if mask[i]:
                found[i] = found[i].reshape(B, *size)
        return tuple(found), tuple(0 if want else None for want in mask)
        # END SOLUTION
        # STARTER # your code (the reference takes 9 lines)
        # STARTER raise NotImplementedError


def filled(batch: Tensor, axes: int) -> Tensor:
    """A batch of tensors of fewer axes, with ones in front of each tensor's own."""
    ones = [1] * (axes - (batch.dim() - 1))
    return batch.reshape(batch.shape[0], *ones, *batch.shape[1:])


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    register(Add(namespace))
    register(AddBackward(namespace))
