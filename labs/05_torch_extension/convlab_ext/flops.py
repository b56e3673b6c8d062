# SPDX-License-Identifier: MIT
"""Tells PyTorch's FLOP counter what convlab's operators compute.

    import convlab_ext.flops

    with FlopCounterMode() as counter:    # of torch.utils.flop_counter
        model(x).sum().backward()

A multiply-add counts as two, as in PyTorch's own formulas. add, gelu, layer_norm and
unfold count as 0, because PyTorch counts none for its own. One number differs: for the
gradient of a weight with several groups, PyTorch counts the products between the groups
as well, which nobody computes.

This is a module of its own because torch.utils.flop_counter takes long to import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import register_flop_formula

Shape = Sequence[int]


def matmul(input: Shape, other: Shape, **_: Any) -> int:
    """(..., M, K) times (..., K, N)."""
    return 2 * prod(input) * other[-1]


def matmul_backward(
    grad_output: Shape, input: Shape, other: Shape, output_mask: Any, **_: Any
) -> int:
    """One product as large as forward for each gradient; the bias needs none."""
    return sum(output_mask[:2]) * matmul(input, other)


def linear(input: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    """(..., IC) times (IC, OC)."""
    return 2 * prod(input) * weight[0]


def linear_backward(
    grad_output: Shape, input: Shape, weight: Shape, output_mask: Any, **_: Any
) -> int:
    """As matmul_backward."""
    return sum(output_mask[:2]) * linear(input, weight)


def conv2d(
    input: Shape, weight: Shape, *_: Any, out_shape: Any = None, **__: Any
) -> int:
    """Each output is a sum over a window of the channels of one group."""
    return 2 * prod(out_shape) * prod(weight[1:])


def conv2d_backward(
    grad_output: Shape, input: Shape, weight: Shape, *options: Any, **_: Any
) -> int:
    """As matmul_backward; the mask is the last of the options."""
    return sum(options[-1][:2]) * conv2d(input, weight, out_shape=grad_output)


def lltm(input: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    """The product in front of the gates."""
    return 2 * input[0] * prod(weight)


def lltm_backward(
    grad_new_h: Shape,
    grad_new_c: Shape,
    input: Shape,
    weight: Shape,
    *more: Any,
    **_: Any,
) -> int:
    """Products with the columns of weight that belong to input and to h."""
    of_input, of_weight, _bias, of_h, _c = more[-1]
    (N, IC), (rows, columns) = input, weight
    share = of_input * IC + of_h * (columns - IC) + of_weight * columns
    return 2 * N * rows * share


def pairs(count: torch.Tensor, rulebook: torch.Tensor) -> int:
    """How many pairs of points multiply; the most there can be if nobody knows yet."""
    try:
        return int(count.sum())
    except RuntimeError:  # a fake tensor has no numbers
        return prod(rulebook.shape[:2])


def subm_conv3d(
    features: Any,
    coordinates: Any,
    weight: Any,
    *_: Any,
    out_val: Any = None,
    **__: Any,
) -> int:
    """A product (IC) by (IC, OC) for each pair of neighbours."""
    _output, rulebook, count = out_val
    return 2 * pairs(count, rulebook) * prod(weight.shape[:2])


def subm_conv3d_backward(
    grad_output: Any, features: Any, coordinates: Any, weight: Any, *more: Any, **_: Any
) -> int:
    """As matmul_backward, for each pair."""
    rulebook, count, _dilation, mask = more
    return sum(mask[:2]) * 2 * pairs(count, rulebook) * prod(weight.shape[:2])


FORMULAS: dict[str, Callable[..., int]] = {
    "matmul": matmul,
    "matmul_backward": matmul_backward,
    "linear": linear,
    "linear_backward": linear_backward,
    "conv2d": conv2d,
    "conv2d_backward": conv2d_backward,
    "depthwise_conv2d": conv2d,
    "depthwise_conv2d_backward": conv2d_backward,
    "lltm": lltm,
    "lltm_backward": lltm_backward,
    "subm_conv3d": subm_conv3d,
    "subm_conv3d_backward": subm_conv3d_backward,
}
for _name, _formula in FORMULAS.items():
    if hasattr(torch.ops.convlab, _name):  # else it is not built
        _by_numbers = _name.startswith("subm")
        _register = register_flop_formula(
            getattr(torch.ops.convlab, _name), get_raw=_by_numbers
        )
        _register(_formula)
