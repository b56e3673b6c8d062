# SPDX-License-Identifier: MIT
"""The options of operators that slide a window, unfold and conv2d, along two axes."""

from __future__ import annotations

from typing import Any


def pair(operator: str, option: str, value: Any) -> list[Any]:
    """(height, width) of an option given as one number or two."""
    numbers = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(numbers) not in (1, 2) or isinstance(value, str):
        raise ValueError(
            f"{operator}: '{option}' is {value!r}, expected one number or two"
        )
    return numbers * 2 if len(numbers) == 1 else numbers


def extent(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """How many windows fit along one axis (operators.h has the same formula in C)."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
