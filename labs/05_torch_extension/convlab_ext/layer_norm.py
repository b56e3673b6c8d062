# SPDX-License-Identifier: MIT
"""layer_norm: the public function, and the rules of layer_norm, layer_norm_backward.

The operator gives mean and rstd of each row as well, so that backward need not compute
them again; they have derivatives like the output. What is differentiated twice, or has
a weight of its own for each example, is composed of what PyTorch does element by
element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from convlab_ext._refusals import must_be_dense, must_be_tensor, shown
from convlab_ext._rules import (
    Rules,
    convlab,
    in_front,
    register,
    same_kind,
    sizes,
    unread,
)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """torch.nn.functional.layer_norm by convlab's kernels; several axes become one."""
    if not isinstance(normalized_shape, (list, tuple)):
        raise TypeError(
            f"layer_norm: 'normalized_shape' is {shown(normalized_shape)}, expected a "
            "list of sizes"
        )
    shape, axes = list(normalized_shape), len(normalized_shape)
    if axes < 2:
        return convlab.layer_norm(input, shape, weight, bias, eps)[0]
    must_be_tensor("layer_norm", "input", input)
    must_be_dense("layer_norm", input=input, weight=weight, bias=bias)
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and list(tensor.shape) != shape:
            raise RuntimeError(
                f"layer_norm: '{name}' must be {shape}, got {list(tensor.shape)}"
            )
    right = list(input.shape[-axes:])
    if right != shape:
        raise RuntimeError(
            f"layer_norm: 'normalized_shape' is {shape}, expected {right} or fewer axes"
        )
    flat = [None if t is None else t.flatten() for t in (weight, bias)]  # (D) each
    rows = input.flatten(-axes)  # (..., D)
    features = [math.prod(shape)]
    return convlab.layer_norm(rows, features, *flat, eps)[0].view(input.shape)


# ---- formulas in operators of PyTorch, with `lead` batch axes in front ---------------


def along_rows(tensor: Tensor, like: Tensor) -> Tensor:
    """A weight (D), or (B, D) for B examples, as it meets `like` (B, ..., D)."""
    ones = [1] * (like.dim() - tensor.dim())
    return tensor.reshape(*tensor.shape[:-1], *ones, tensor.shape[-1])


def summed(tensor: Tensor, lead: int) -> Tensor:
    """Over all axes between the first `lead` and the last."""
    rows = list(range(lead, tensor.dim() - 1))
    return tensor.sum(rows) if rows else tensor.clone()


def gradients(start: Tensor, tensors: Any, mask: Any, lead: int = 0) -> tuple[Any, ...]:
    """What layer_norm_backward gives. tensors: input, weight or None, mean, rstd."""
    # BEGIN SOLUTION
    input, weight, mean, rstd = tensors
    mean, rstd = mean[..., None], rstd[..., None]  # (..., 1) both
    xhat = (input - mean) * rstd  # (..., D)
    dx = start if weight is None else start * along_rows(weight, start)  # (..., D)

    def of_input() -> Tensor:
        average = dx.mean(-1, keepdim=True)  # (..., 1)
        average_xhat = (dx * xhat).mean(-1, keepdim=True)  # (..., 1)
        return rstd * (dx - average - xhat * average_xhat)  # (..., D)

    made = of_input, lambda: summed(start * xhat, lead), lambda: summed(start, lead)
    return tuple(
        (m() if want else input.new_empty(0)).to(input.dtype)
        for m, want in zip(made, mask)
    )
    # END SOLUTION
    # STARTER # your code (the reference takes 13 lines)
    # STARTER raise NotImplementedError


# ---- rules ---------------------------------------------------------------------------


class LayerNorm(Rules):
    """layer_norm(input, normalized_shape, weight, bias, eps) -> output, mean, rstd."""

    name = "layer_norm"

    def fake(self, input, normalized_shape, weight, bias, eps):
        """(..., D), (...), (...); what does not fit is refused."""
        # BEGIN SOLUTION
        *leading, D = sizes("input", input, "(..., D)")
        for name, given in (
            ("normalized_shape", normalized_shape),
            ("weight", [D] if weight is None else weight.shape),
            ("bias", [D] if bias is None else bias.shape),
        ):
            said = f"'{name}' must be ({D}), got {tuple(given)}"
            torch._check(len(given) == 1, lambda said=said: said)
            torch._check(given[0] == D, lambda said=said: said)
        same_kind(input, weight, bias)
        torch._check(eps > 0, lambda: f"'eps' must be more than 0, got {eps}")
        exact = torch.float32 if input.dtype is torch.float16 else input.dtype
        mean = input.new_empty(leading, dtype=exact)
        return input.new_empty(input.shape), mean, torch.empty_like(mean)
        # END SOLUTION
        # STARTER # your code (the reference takes 14 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """The bias is not needed again. Its gradient needs no other number."""
        # BEGIN SOLUTION
        input, _, weight, _, ctx.eps = inputs
        _, mean, rstd = output
        of_input, _, of_weight, *_ = ctx.needs_input_grad
        kept = input if of_input or of_weight else None, weight if of_input else None
        ctx.save_for_backward(*kept, mean, rstd)
        ctx.save_for_forward(input, weight, mean, rstd)
        ctx.shape = input.shape
        ctx.set_materialize_grads(False)
        # END SOLUTION
        # STARTER # your code (the reference takes 8 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, grad_output, grad_mean, grad_rstd):
        """The kernel; mean and rstd have gradients only where backward has."""
        # BEGIN SOLUTION
        input, weight, mean, rstd = ctx.saved_tensors
        needed = ctx.needs_input_grad
        mask = [needed[0], needed[2], needed[3]]
        found: list[Any] = [None, None, None]
        if grad_output is not None:
            whole = unread(input, ctx.shape, grad_output)
            tensors = grad_output.contiguous(), whole, weight, mean, rstd
            made = self.ops.layer_norm_backward(*tensors, ctx.eps, mask)
            found = [g if want else None for g, want in zip(made, mask)]
        if needed[0] and grad_mean is not None:
            more = (grad_mean / input.shape[-1])[..., None].expand(input.shape)
            found[0] = more if found[0] is None else found[0] + more
        if needed[0] and grad_rstd is not None:
            slope = (grad_rstd * rstd**3 / -input.shape[-1])[..., None]  # (..., 1)
            more = (input - mean[..., None]) * slope  # (..., D)
            found[0] = more if found[0] is None else found[0] + more
        return found[0], None, found[1], found[2], None
        # END SOLUTION
        # STARTER # your code (the reference takes 17 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, d_input, _shape, d_weight, d_bias, _eps):
        """Mean and rstd move with the input, and with them all of the row."""
        # BEGIN SOLUTION
        input, weight, mean, rstd = ctx.saved_tensors
        d_mean, d_rstd = torch.zeros_like(mean), torch.zeros_like(rstd)
        steep = rstd[..., None]  # (..., 1)
        xhat = (input - mean[..., None]) * steep  # (..., D)
        d_output = torch.zeros_like(xhat)
        if d_input is not None:
            d_mean = d_input.mean(-1)
            d_centered = d_input - d_mean[..., None]  # (..., D)
            turn = (d_centered * xhat).mean(-1)
            d_rstd = -rstd * rstd * turn
            d_output = (d_centered - xhat * turn[..., None]) * steep
            d_output = d_output if weight is None else d_output * weight
        if d_weight is not None:
            d_output = d_output + xhat * d_weight
        if d_bias is not None:
            d_output = d_output + d_bias
        return d_output, d_mean, d_rstd
        # END SOLUTION
        # STARTER # your code (the reference takes 17 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, shape, weight, bias, eps):
        """A batch axis is one more leading axis, unless examples have weights."""
        # BEGIN SOLUTION
        rows = in_front(input, in_dims[0], info.batch_size)  # (B, ..., D)
        if in_dims[2] is None and in_dims[3] is None:
            return self.operator(rows, shape, weight, bias, eps), (0, 0, 0)
        output, mean, rstd = self.operator(rows, shape, None, None, eps)
        if weight is not None:
            weights = in_front(weight, in_dims[2], info.batch_size)  # (B, D)
            output = output * along_rows(weights, output)
        if bias is not None:
            biases = in_front(bias, in_dims[3], info.batch_size)  # (B, D)
            output = output + along_rows(biases, output)
        return (output, mean, rstd), (0, 0, 0)
        # END SOLUTION
        # STARTER # your code (the reference takes 11 lines)
        # STARTER raise NotImplementedError


class LayerNormBackward(Rules):
    """layer_norm_backward(grad_output, input, weight, mean, rstd, eps, mask)."""

    name = "layer_norm_backward"

    def fake(self, grad_output, input, weight, mean, rstd, eps, mask):
        """As large as what they are gradients of; (0) where one is not wanted."""
        # BEGIN SOLUTION
        sizes = input.shape, input.shape[-1:], input.shape[-1:]
        return tuple(input.new_empty(s if want else 0) for s, want in zip(sizes, mask))
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def composition(self, grad_output, input, weight, mean, rstd, eps, mask):
        """The same of operators that differentiate: what a second derivative sees."""
        # BEGIN SOLUTION
        return gradients(grad_output, (input, weight, mean, rstd), mask)
        # END SOLUTION
        # STARTER # your code (the reference takes 1 line)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, *tensors_eps_and_mask):
        """Each example has gradients of its own."""
        # BEGIN SOLUTION
        *tensors, _, mask = tensors_eps_and_mask
        start, *others = (
            None if tensor is None else in_front(tensor, batched, info.batch_size)
            for tensor, batched in zip(tensors, in_dims)
        )
        found = gradients(start, others, mask, lead=1)
        return found, tuple(0 if want else None for want in mask)
        # END SOLUTION
        # STARTER # your code (the reference takes 7 lines)
        # STARTER raise NotImplementedError


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    register(LayerNorm(namespace))
    register(LayerNormBackward(namespace))
