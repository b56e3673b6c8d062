# SPDX-License-Identifier: MIT
"""Makes a question about tensor_view.h: a tensor, arguments, and the right answer.

The right answer is PyTorch's: the view that it makes of such a tensor, or its refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from grader.checks.views import placing
from grader.checks.views.placing import Layout

LONGEST = 8  # axes in an array of numbers: common/view_calls.c
Numbers = list[int]


@dataclass(frozen=True)
class Question:
    """One call."""

    function: str  # of VIEWS
    given: Layout  # the tensor that is viewed; of from_dlpack the one that is lent
    storage: int  # bytes
    arguments: tuple[Any, ...] = ()

    @property
    def weight(self) -> tuple[int, ...]:
        """How much a reader has to look at: small questions come first."""
        numbers = _flat(self.arguments)
        axes = len(self.given.size) + len(numbers)
        return axes, sum(abs(n) for n in (*self.given.size, *numbers))

    def __str__(self) -> str:
        """slice(1, 0, 5, 2) of a tensor of size (2, 3), stride (3, 1), offset 0."""
        called = ", ".join(str(one) for one in self.arguments)
        if self.function == "as_strided":
            return f"as_strided({called}) in a storage of {self.storage} bytes"
        return f"{self.function}({called}) of a tensor of {self.given}"

    @property
    def sent(self) -> tuple[Numbers, Numbers]:
        """The arrays that the worker is given."""
        return _given(self), _arguments(self)

    def view(self) -> Layout:
        """PyTorch's view. Raises what PyTorch raises."""
        tensor = self.given.tensor(self.storage - self.given.reach)
        made = _ASKED[self.function](tensor, *self.arguments)
        if min(made.shape, default=0) < 0:  # expand(-2), if another size is 0
            raise RuntimeError("a size is negative")
        return placing.of(made, device=self.given.device)

    def answer(self) -> tuple[Layout | None, str]:
        """PyTorch's view; None if it refuses, and what it says then."""
        try:
            return self.view(), ""
        except (RuntimeError, IndexError, BufferError) as error:
            return None, str(error).splitlines()[0]


def _flat(values: tuple[Any, ...]) -> Numbers:
    found: Numbers = []
    for value in values:
        found += _flat(value) if isinstance(value, tuple) else [int(value)]
    return found


def padded(axes: tuple[int, ...]) -> Numbers:
    """Axes with the room that C gives them; what is behind them must not be used."""
    return [*axes, *[-77] * (LONGEST - len(axes))]


def _given(asked: Question) -> Numbers:
    given = asked.given
    if asked.function == "as_strided":
        return [0, given.dtype, given.device, asked.storage]
    head = [given.start, given.dtype, given.device, len(given.size)]
    return [*head, *padded(given.size), *padded(given.stride)]


def _arguments(asked: Question) -> Numbers:
    if asked.function == "as_strided":
        size, stride, offset = asked.arguments
        return [offset, len(size), *padded(size), *padded(stride)]
    if asked.function in ("expand", "reshape"):
        (size,) = asked.arguments
        return [len(size), *padded(size)]
    return [*_flat(asked.arguments), 0]


_ASKED: dict[str, Callable[..., torch.Tensor]] = {
    "as_strided": torch.as_strided,
    "transpose": torch.transpose,
    "slice": torch.ops.aten.slice.Tensor,
    "expand": lambda tensor, size: tensor.expand(size),
    "reshape": lambda tensor, size: tensor.view(size),
}
