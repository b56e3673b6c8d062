# SPDX-License-Identifier: MIT
"""Calls that PyTorch refuses, and lab 05's operators have to refuse with a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

Shapes = Mapping[str, Sequence[int]]
Line = tuple[str, Shapes, Mapping[str, Any], Mapping[str, torch.dtype]]

_IMAGE = (2, 4, 5, 6)
_CONV: Shapes = {"input": _IMAGE, "weight": (6, 4, 3, 2), "bias": (6,)}
_LINEAR: Shapes = {"input": (3, 4), "weight": (5, 4), "bias": (5,)}
_MATMUL: Shapes = {"input": (2, 3, 4), "other": (2, 4, 5)}
_ADD: Shapes = {"input": (3, 4), "other": (3, 4)}
_UNFOLD: Shapes = {"input": _IMAGE}
_KERNEL = {"kernel_size": (3, 2)}

GOOD: dict[str, tuple[Shapes, dict[str, Any]]] = {
    "add": (_ADD, {}),
    "matmul": (_MATMUL, {}),
    "linear": (_LINEAR, {}),
    "unfold": (_UNFOLD, _KERNEL),
    "conv2d": (_CONV, {}),
}

# what is wrong, other shapes, other options
_WRONG: dict[str, list[tuple[str, Shapes, dict[str, Any]]]] = {
    "add": [
        ("sizes that cannot be broadcast", {"other": (2, 4)}, {}),
    ],
    "matmul": [
        ("inner sizes that differ", {"other": (2, 3, 5)}, {}),
        ("batch sizes that differ", {"other": (3, 4, 5)}, {}),
    ],
    "linear": [
        ("a weight for another number of features", {"weight": (5, 3)}, {}),
        ("a bias of another size", {"bias": (4,)}, {}),
        ("a weight with three axes", {"weight": (5, 4, 1)}, {}),
    ],
    "unfold": [
        ("a kernel larger than the image", {}, {"kernel_size": (7, 2)}),
        ("a kernel of size 0", {}, {"kernel_size": (0, 2)}),
        ("stride 0", {}, {"stride": (0, 1)}),
        ("dilation 0", {}, {"dilation": (1, 0)}),
        ("negative padding", {}, {"padding": (-1, 0)}),
        ("an input with two axes", {"input": (5, 6)}, {}),
    ],
    "conv2d": [
        ("a weight for another number of channels", {"weight": (6, 3, 3, 2)}, {}),
        ("a bias of another size", {"bias": (5,)}, {}),
        ("a weight with three axes", {"weight": (6, 4, 3)}, {}),
        ("an input with five axes", {"input": (1, *_IMAGE)}, {}),
        ("a kernel larger than the image", {"weight": (6, 4, 7, 2)}, {}),
        ("groups that do not divide the channels", {}, {"groups": 3}),
        ("groups=0", {}, {"groups": 0}),
        ("stride 0", {}, {"stride": (0, 1)}),
        ("dilation 0", {}, {"dilation": (1, 0)}),
        ("negative padding", {}, {"padding": (-1, 0)}),
    ],
}


def refused(operator: str) -> Iterator[Line]:
    """What is wrong, shapes, options and dtypes that are not float, one call each."""
    shapes, options = GOOD[operator]
    for what, other, more in _WRONG[operator]:
        yield what, {**shapes, **other}, {**options, **more}, {}
    if operator in ("add", "unfold"):
        return  # of these PyTorch takes any dtype
    for name in list(shapes)[1:]:
        yield f"'{name}' in double beside float", shapes, options, {name: torch.float64}
    yield "tensors of booleans", shapes, options, dict.fromkeys(shapes, torch.bool)
