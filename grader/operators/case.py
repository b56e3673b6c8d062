# SPDX-License-Identifier: MIT
"""A case: one call of an operator, in the words of its case file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STRANGE = {"nan": math.nan, "infinite": math.inf}  # values -> one number among others


class CaseError(Exception):
    """A line of a case file cannot be used; the sentence says which and why."""


@dataclass(frozen=True)
class Case:
    """One line of a case file: sizes and options, and how the numbers lie in memory."""

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)  # N, IC, IH ...
    options: Mapping[str, Any] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # where "..." is
    layout: Mapping[str, str] = field(default_factory=dict)  # tensor -> layouts.py
    without: tuple[str, ...] = ()  # optional inputs that are absent
    wanted: tuple[str, ...] | None = None  # inputs whose gradients are asked for
    values: str = "normal"  # a word of values.py
    gradcheck: bool = False  # small enough for a slow-mode gradcheck
    aligned: bool = False  # tensors begin at multiples of 64 bytes
    large: bool = False  # too large for cusim
    backward_only: bool = False  # much work, and nothing new for forward
    again: bool = False  # called twice, with other numbers in the same memory

    @property
    def is_strange(self) -> bool:
        """Whether one of its numbers is NaN or infinity: so are some results."""
        return self.values in STRANGE

    @property
    def is_extreme(self) -> bool:
        """Whether some numbers are NaN, infinite or denormal."""
        return self.is_strange or self.values == "tiny"
