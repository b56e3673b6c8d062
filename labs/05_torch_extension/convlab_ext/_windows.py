# SPDX-License-Identifier: MIT
"""The options of operators that slide a window, along height and width."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from convlab_ext._refusals import (
    MOST,
    must_be_dense,
    must_be_right,
    must_be_tensor,
    shown,
)


def pair(operator: str, option: str, value: Any) -> list[Any]:
    """(height, width) of an option given as one number or two."""
    if type(value) is int:
        return [value, value]
    numbers = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(numbers) not in (1, 2) or isinstance(value, str):
        words = (
            "'same', 'valid', " if option == "padding" and operator != "unfold" else ""
        )
        raise ValueError(
            f"{operator}: '{option}' is {shown(value)}, expected {words}one number or "
            "two"
        )
    return numbers * 2 if len(numbers) == 1 else numbers


def batch_of_one(operator: str, image: Tensor) -> Tensor:
    """An image without N as a batch."""
    try:
        return image[None]
    except RuntimeError:
        must_be_dense(operator, input=image)
        raise


def padded_same(
    operator: str, input: Tensor, weight: Tensor, stride: list[int], dilation: list[int]
) -> tuple[Tensor, tuple[int, int]]:
    """padding="same": what is left of an odd number of zeros goes to the end."""
    must_be_tensor(operator, "weight", weight)
    must_be_right(operator, ("dilation", "List[int]", dilation))
    for name, tensor, axes in (
        ("input", input, "(N, IC, IH, IW)"),
        ("weight", weight, "(OC, IC/G, KH, KW)"),
    ):
        if tensor.dim() != 4:
            got = tuple(tensor.shape)
            raise ValueError(f"{operator}: '{name}' must be {axes}, got {got}")
    if stride != [1, 1]:
        raise ValueError(
            f"{operator}: 'stride' is {shown(stride)}, expected 1 with padding='same'"
        )
    sizes = weight.shape[2:]
    if torch.jit.is_tracing():  # there a size is a tensor, which no option may be
        sizes = [int(size) for size in sizes]
    high, wide = (d * max(k - 1, 0) for d, k in zip(dilation, sizes))
    if high % 2 or wide % 2:
        try:
            input = torch.nn.functional.pad(input, (0, wide % 2, 0, high % 2))
        except RuntimeError:
            must_be_right(operator, ("input", "Tensor", input))
            raise
    return input, (high // 2, wide // 2)


def like_pytorchs(output: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    """The output of a convolution, which is row-major, in the layout of PyTorch's.

    That is channels last if input or weight has this layout.
    """
    if channels_last(input) or channels_last(weight):
        return output.contiguous(memory_format=torch.channels_last)
    return output


def channels_last(images: Tensor) -> bool:
    """What PyTorch decides by the strides of (N, C, H, W)."""
    strides = images.stride()
    if strides[1] > strides[3]:  # nearly always
        return False
    sizes = images.shape
    if strides[1] == sizes[2] * strides[2]:  # both layouts at once, as (N, 1, 1, 1)
        return False
    within = 0
    for axis in (1, 3, 2, 0):
        if sizes[axis] == 0 or strides[axis] < within:
            return False
        within = sizes[axis] * strides[axis]
    return strides[1] > 0


def extent(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """How many windows fit along one axis (operators.h has the same formula in C)."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def extents(image: Any, kernel: Any, *options: Any) -> list[Any]:
    """OH and OW of a fake kernel; options are stride, padding and dilation.

    What leaves no window is refused. Sizes may be symbols: torch._check looks at what
    is known now, and makes the rest a condition that the compiled program keeps.
    """
    given = (kernel, *options)
    pairs = all(len(two) == 2 for two in given)
    names = "the kernel, 'stride', 'padding' and 'dilation'"
    torch._check(pairs, lambda: f"{names} must be two numbers each, got {given}")
    found = []
    for size, K, S, P, D in zip(image, kernel, *options):
        said = f"kernel {K}, stride {S}, padding {P}, dilation {D}"
        torch._check(K > 0, lambda s=said: f"'weight' must not be empty: {s}")
        right = 0 < S <= MOST and 0 <= P <= MOST and 0 < D <= MOST
        torch._check(right, lambda s=said: f"'stride' or others do not fit: {s}")
        found.append(extent(size, K, S, P, D))
        words = f"'input' has {size} along one axis, too few for a window: {said}"
        torch._check(found[-1] > 0, lambda words=words: words)
    return found
