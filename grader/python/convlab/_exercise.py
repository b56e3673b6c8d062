# SPDX-License-Identifier: MIT
"""Answers an exercise of a notebook: ``convlab.compare`` checks what a reader wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[3]
CLOSE = 1e-4  # relative: far above rounding in float, far below a mistake


@dataclass(frozen=True)
class Answer:
    """Right, wrong or not written yet, in a sentence; true if right."""

    sentence: str
    right: bool = False

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.sentence


def compare(
    yours: Callable[..., Any],
    expected: Callable[..., Any],
    cases: Iterable[tuple[Any, ...]],
) -> Answer:
    """Call both with the arguments of every case and compare what they return."""
    tried = 0
    for case in cases:
        tried += 1
        right = expected(*case)
        try:
            got = yours(*case)
        except NotImplementedError as error:
            return Answer(f"not written yet{f': {error}' if str(error) else ''}")
        except Exception as error:
            text = f"{type(error).__name__}: {str(error).splitlines()[:1]}"
            return Answer(f"not yet: {_given(case)}it raises {text}")
        if not _same(got, right):
            difference = f"it returns {_short(got)}, expected {_short(right)}"
            return Answer(f"not yet: {_given(case)}{difference}")
    return Answer(f"right: {tried} cases", right=True)


def _same(got: Any, right: Any) -> bool:
    if not isinstance(right, torch.Tensor):
        return bool(got == right)
    if not isinstance(got, torch.Tensor) or got.shape != right.shape:
        return False
    scale = float(right.abs().max()) if right.numel() else 1.0
    return bool(((got - right).abs() <= CLOSE * max(scale, 1e-30)).all())


def _given(case: tuple[Any, ...]) -> str:
    return f"for {', '.join(_short(one) for one in case)} " if case else ""


def _short(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if value.numel() > 12:
        return f"a tensor of shape {tuple(value.shape)}"
    return str([round(number, 4) for number in value.flatten().tolist()]) + (
        f" of shape {tuple(value.shape)}" if value.dim() != 1 else ""
    )


def excerpt(path: str, start: str, end: str) -> None:
    """Print the part of a file of the repository from one text to another."""
    text = (ROOT / path).read_text()
    first = text.index(start)
    print(text[first : text.index(end, first) + len(end)])
