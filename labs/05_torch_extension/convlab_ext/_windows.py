# SPDX-License-Identifier: MIT
"""The options of operators that slide a window, along height and width."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from convlab_ext._refusals import must_be_tensor, shown

MOST = 1 << 20  # MAX_OPTION of common/arguments.h


def pair(operator: str, option: str, value: Any) -> list[Any]:
    """(height, width) of an option given as one number or two."""
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


def padded_same(
    operator: str, input: Tensor, weight: Tensor, stride: list[int], dilation: list[int]
) -> tuple[Tensor, tuple[int, int]]:
    """padding="same": what is left of an odd number of zeros goes to the end."""
    must_be_tensor(operator, "weight", weight)
    if weight.dim() != 4:
        raise ValueError(
            f"{operator}: 'weight' must be (OC, IC/G, KH, KW), got "
            f"{tuple(weight.shape)}"
        )
    if stride != [1, 1]:
        raise ValueError(f"{operator}: padding='same' needs stride 1, as in PyTorch")
    sizes = weight.shape[2:]
    if torch.jit.is_tracing():  # there a size is a tensor, which no option may be
        sizes = [int(size) for size in sizes]
    high, wide = (d * (k - 1) for d, k in zip(dilation, sizes))
    if high % 2 or wide % 2:
        input = torch.nn.functional.pad(input, (0, wide % 2, 0, high % 2))
    return input, (high // 2, wide // 2)


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
    torch._check(pairs, lambda: f"expected two numbers for each option, got {given}")
    found = []
    for size, K, S, P, D in zip(image, kernel, *options):
        said = f"kernel {K}, stride {S}, padding {P}, dilation {D}"
        right = K > 0 and 0 < S <= MOST and 0 <= P <= MOST and 0 < D <= MOST
        torch._check(right, lambda s=said: f"got {s}, expected at least 1, 1, 0, 1")
        found.append(extent(size, K, S, P, D))
        torch._check(found[-1] > 0, lambda s=said, n=size: f"no window in {n}: {s}")
    return found
