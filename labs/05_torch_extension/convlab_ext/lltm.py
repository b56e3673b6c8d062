# SPDX-License-Identifier: MIT
"""lltm: the public function, and the rules of the operators lltm and lltm_backward.

The operator gives the gates as a third result, so that backward need not compute them
again; they have derivatives like the others. What is differentiated twice, or along a
batch of weights, is composed of operators that know how: products of convlab's matmul,
and what PyTorch does element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from convlab_ext._rules import (
    Rules,
    convlab,
    in_front,
    register,
    same_kind,
    sizes,
    unread,
)

Product = Callable[[Tensor, Tensor], Tensor]


def lltm(
    input: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """One step of the cell of PyTorch's C++ extension tutorial: new_h and new_c."""
    new_h, new_c, _ = convlab.lltm(input, weight, bias, h, c)
    return new_h, new_c


# ---- the cell in operators of PyTorch, with any batch axes in front ------------------


def slopes(gates: Tensor) -> Tensor:
    """The derivatives of sigmoid, sigmoid and elu, from their values."""
    # BEGIN SOLUTION
    i, o, g = gates.chunk(3, -1)  # (..., H) each
    of_g = torch.where(g > 0, 1.0, g + 1)  # (..., H)
    return torch.cat([i * (1 - i), o * (1 - o), of_g], -1)  # (..., 3*H)
    # END SOLUTION
    # STARTER # your code (the reference takes 3 lines)
    # STARTER raise NotImplementedError


def cell(
    product: Product, input: Tensor, weight: Tensor, bias: Tensor, h: Tensor, c: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """new_h, new_c and gates; bias has an axis of size 1 for the samples."""
    # BEGIN SOLUTION
    preact = product(torch.cat([h, input], -1), weight.mT) + bias  # (..., N, 3*H)
    i, o, g = preact.chunk(3, -1)  # (..., N, H) each
    i, o, g = i.sigmoid(), o.sigmoid(), torch.nn.functional.elu(g)
    new_c = c + g * i  # (..., N, H)
    return new_c.tanh() * o, new_c, torch.cat([i, o, g], -1)
    # END SOLUTION
    # STARTER # your code (the reference takes 5 lines)
    # STARTER raise NotImplementedError


def gradients(
    product: Product, starts: Any, tensors: Any, mask: Any
) -> tuple[Tensor, ...]:
    """What lltm_backward gives. starts: grad_new_h, grad_new_c, and grad_gates or None;
    tensors: input, weight, h, new_c, gates.
    """
    # BEGIN SOLUTION
    grad_new_h, grad_new_c, grad_gates = starts
    input, weight, h, new_c, gates = tensors
    H, squashed = h.shape[-1], new_c.tanh()
    i, o, g = gates.chunk(3, -1)  # (..., N, H) each
    grad_c = grad_new_c + grad_new_h * o * (1 - squashed * squashed)  # (..., N, H)
    grad = torch.cat([grad_c * g, grad_new_h * squashed, grad_c * i], -1)
    grad = grad if grad_gates is None else grad + grad_gates
    grad = grad * slopes(gates)  # (..., N, 3*H), in front of the gates
    made = (
        lambda: product(grad, weight[..., H:]),  # (..., N, IC)
        lambda: product(grad.mT, torch.cat([h, input], -1)),  # (..., 3*H, H+IC)
        lambda: grad.sum(-2),  # (..., 3*H)
        lambda: product(grad, weight[..., :H]),  # (..., N, H)
        lambda: grad_c,
    )
    return tuple(m() if want else grad.new_empty(0) for m, want in zip(made, mask))
    # END SOLUTION
    # STARTER # your code (the reference takes 16 lines)
    # STARTER raise NotImplementedError


# ---- rules ---------------------------------------------------------------------------


class Lltm(Rules):
    """lltm(input, weight, bias, h, c) -> new_h, new_c, gates."""

    name = "lltm"

    def fake(self, input, weight, bias, h, c):
        """(N, H), (N, H), (N, 3*H); what does not fit is refused."""
        # BEGIN SOLUTION
        (N, IC), (_, H) = sizes("input", input, "(N, IC)"), sizes("h", h, "(N, H)")
        for name, tensor, right in (
            ("weight", weight, (3 * H, H + IC)),
            ("bias", bias, (3 * H,)),
            ("h", h, (N, H)),
            ("c", c, (N, H)),
        ):
            said = f"'{name}' must be {right}, got {tensor.shape}"
            torch._check(tensor.dim() == len(right), lambda said=said: said)
            for size, expected in zip(tensor.shape, right):
                torch._check(size == expected, lambda said=said: said)
        same_kind(input, weight, bias, h, c)
        return h.new_empty(N, H), h.new_empty(N, H), h.new_empty(N, 3 * H)
        # END SOLUTION
        # STARTER # your code (the reference takes 13 lines)
        # STARTER raise NotImplementedError

    def setup_context(self, ctx, inputs, output):
        """Bias and c are not needed again; the new c and the gates tell more."""
        # BEGIN SOLUTION
        input, weight, _, h, _ = inputs
        _, new_c, gates = output
        of_input, of_weight, _, of_h, _ = ctx.needs_input_grad
        row = (input, h) if of_weight else (None, None)
        factors = *row, weight if of_input or of_h else None
        ctx.save_for_backward(*factors, new_c, gates)
        ctx.save_for_forward(input, h, weight, new_c, gates)
        ctx.shapes = input.shape, h.shape, weight.shape
        ctx.set_materialize_grads(False)
        # END SOLUTION
        # STARTER # your code (the reference takes 9 lines)
        # STARTER raise NotImplementedError

    def backward(self, ctx, grad_new_h, grad_new_c, grad_gates):
        """The kernel; gates have a gradient only where backward is differentiated."""
        # BEGIN SOLUTION
        *kept, new_c, gates = ctx.saved_tensors
        input, h, weight = (unread(t, s, new_c) for t, s in zip(kept, ctx.shapes))
        tensors = input, weight, h, new_c, gates
        mask = list(ctx.needs_input_grad)
        starts = [
            torch.zeros_like(new_c) if grad is None else grad
            for grad in (grad_new_h, grad_new_c)
        ]
        if grad_gates is None:
            found = self.ops.lltm_backward(*starts, *tensors, mask)
        else:
            found = gradients(self.ops.matmul, (*starts, grad_gates), tensors, mask)
        return tuple(g if want else None for g, want in zip(found, mask))
        # END SOLUTION
        # STARTER # your code (the reference takes 13 lines)
        # STARTER raise NotImplementedError

    def jvp(self, ctx, *tangents):
        """The product rule, from the first line of the cell to the last."""
        # BEGIN SOLUTION
        input, h, weight, new_c, gates = ctx.saved_tensors
        d_input, d_weight, d_bias, d_h, d_c = (
            like.new_zeros(size) if tangent is None else tangent
            for tangent, like, size in zip(
                tangents,
                (input, weight, weight, h, h),
                (input.shape, weight.shape, weight.shape[:1], h.shape, h.shape),
            )
        )
        d_sums = self.ops.matmul(torch.cat([d_h, d_input], 1), weight.mT) + d_bias
        d_sums = d_sums + self.ops.matmul(torch.cat([h, input], 1), d_weight.mT)
        d_gates = d_sums * slopes(gates)  # (N, 3*H)
        (i, o, g), (d_i, d_o, d_g) = gates.chunk(3, 1), d_gates.chunk(3, 1)
        d_new_c = d_c + d_g * i + g * d_i  # (N, H)
        squashed = new_c.tanh()
        d_new_h = d_new_c * (1 - squashed * squashed) * o + squashed * d_o  # (N, H)
        return d_new_h, d_new_c, d_gates
        # END SOLUTION
        # STARTER # your code (the reference takes 17 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, input, weight, bias, h, c):
        """A batch of samples is more samples; weights of their own are composed."""
        # BEGIN SOLUTION
        B = info.batch_size
        in_input, in_weight, in_bias, in_h, in_c = in_dims
        samples = [
            in_front(tensor, batched, B)  # (B, N, ...)
            for tensor, batched in ((input, in_input), (h, in_h), (c, in_c))
        ]
        N = samples[0].shape[1]
        if in_weight is None and in_bias is None:
            rows = [tensor.flatten(0, 1) for tensor in samples]  # (B*N, ...)
            found = self.operator(rows[0], weight, bias, *rows[1:])
            return tuple(one.unflatten(0, (B, N)) for one in found), (0, 0, 0)
        input, h, c = samples
        weights = in_front(weight, in_weight, B)  # (B, 3*H, H+IC)
        biases = in_front(bias, in_bias, B)[:, None]  # (B, 1, 3*H)
        return cell(self.ops.matmul, input, weights, biases, h, c), (0, 0, 0)
        # END SOLUTION
        # STARTER # your code (the reference takes 15 lines)
        # STARTER raise NotImplementedError


class LltmBackward(Rules):
    """lltm_backward(grad_new_h, grad_new_c, input, weight, h, new_c, gates, mask)."""

    name = "lltm_backward"

    def fake(self, grad_new_h, grad_new_c, input, weight, h, new_c, gates, mask):
        """As large as what they are gradients of; (0) where one is not wanted."""
        # BEGIN SOLUTION
        sizes = input.shape, weight.shape, weight.shape[:1], h.shape, h.shape
        return tuple(input.new_empty(s if want else 0) for s, want in zip(sizes, mask))
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def composition(self, grad_new_h, grad_new_c, *tensors_and_mask):
        """The same of operators that differentiate: what a second derivative sees."""
        # BEGIN SOLUTION
        *tensors, mask = tensors_and_mask
        return gradients(self.ops.matmul, (grad_new_h, grad_new_c, None), tensors, mask)
        # END SOLUTION
        # STARTER # your code (the reference takes 2 lines)
        # STARTER raise NotImplementedError

    def vmap(self, info, in_dims, *tensors_and_mask):
        """Each example has gradients of its own, of the weight too."""
        # BEGIN SOLUTION
        *given, mask = tensors_and_mask
        whole = [in_front(t, d, info.batch_size) for t, d in zip(given, in_dims)]
        starts = *whole[:2], None
        found = gradients(self.ops.matmul, starts, whole[2:], mask)
        return found, tuple(0 if want else None for want in mask)
        # END SOLUTION
        # STARTER # your code (the reference takes 5 lines)
        # STARTER raise NotImplementedError


def rules(namespace: str) -> None:
    """Register both operators' rules."""
    register(Lltm(namespace))
    register(LltmBackward(namespace))
