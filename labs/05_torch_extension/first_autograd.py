# SPDX-License-Identifier: MIT
"""The documented way to derivatives, torch.library.register_autograd, and its limits.

first::add calls the kernel of convlab::add. Its gradient is registered as PyTorch's
tutorials do it: two functions, here with PyTorch's own sums inside. Nothing here is
graded. Run it as soon as step 3 works, and again when the rules of add are written:

    python first_autograd.py

Each line asks both operators for one derivative, and compares it with torch.add's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import convlab_ext
import torch
from torch import Tensor
from torch.autograd import forward_ad

Add = Callable[[Tensor, Tensor, float], Tensor]


@torch.library.custom_op("first::add", mutates_args=())
def first_add(input: Tensor, other: Tensor, alpha: float) -> Tensor:
    """input + alpha * other."""
    return torch.ops.convlab.add(input, other, alpha)


def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
    """Keep what backward needs: sizes and alpha, no numbers."""
    ctx.input_size, ctx.other_size = inputs[0].shape, inputs[1].shape
    ctx.alpha = inputs[2]


def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor, None]:
    """A gradient for each argument, None for alpha."""
    return (
        grad_output.sum_to_size(ctx.input_size),
        grad_output.sum_to_size(ctx.other_size) * ctx.alpha,
        None,
    )


torch.library.register_autograd("first::add", backward, setup_context=setup_context)


# ---- what is asked -------------------------------------------------------------------

X = torch.tensor([[1.0], [-2.0], [3.0]])
Y = torch.tensor([[[4.0, 0.5, -1.0]], [[2.0, -3.0, 1.5]]])


def gradient(add: Add) -> Tensor:
    """Of a number, in input."""
    input = X.clone().requires_grad_()
    return torch.autograd.grad(add(input, Y, 2.0).pow(3).sum(), input)[0]


def gradient_of_gradient(add: Add) -> Tensor:
    """Once more, in other."""
    input, other = X.clone().requires_grad_(), Y.clone().requires_grad_()
    output = add(input, other, 2.0).pow(3).sum()
    (first,) = torch.autograd.grad(output, input, create_graph=True)
    return torch.autograd.grad(first.sum(), other)[0]


def func_grad(add: Add) -> Tensor:
    """The same gradient, by torch.func."""
    return torch.func.grad(lambda input: add(input, Y, 2.0).pow(3).sum())(X)


def func_jvp(add: Add) -> Tensor:
    """A tangent of ones, by torch.func."""
    ones = torch.ones_like(X)
    return torch.func.jvp(lambda input: add(input, Y, 2.0), (X,), (ones,))[1]


def forward_mode(add: Add) -> Tensor | None:
    """The same tangent, by torch.autograd.forward_ad."""
    with forward_ad.dual_level():
        output = add(forward_ad.make_dual(X, torch.ones_like(X)), Y, 2.0)
        return forward_ad.unpack_dual(output).tangent


ASKED = {
    "gradient": gradient,
    "gradient of a gradient": gradient_of_gradient,
    "torch.func.grad": func_grad,
    "torch.func.jvp": func_jvp,
    "forward_ad": forward_mode,
}


def answer(ask: Callable[[Add], Tensor | None], add: Add) -> str:
    """What comes, in a word or two."""
    right = ask(lambda input, other, alpha: torch.add(input, other, alpha=alpha))
    try:
        found = ask(add)
    except NotImplementedError:
        return "not written"
    except RuntimeError:
        return "refused"
    if found is None:
        return "no tangent"
    if right is not None and torch.allclose(found, right):
        return "right"
    return "wrong" if found.any() else "zero"


if __name__ == "__main__":
    print(convlab_ext.parts())
    print(f"{'':24}{'first::add':13}convlab::add")
    for name, ask in ASKED.items():
        first, ours = (
            answer(ask, add) for add in (torch.ops.first.add, torch.ops.convlab.add)
        )
        print(f"{name:24}{first:13}{ours}")
