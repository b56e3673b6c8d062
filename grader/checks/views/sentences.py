# SPDX-License-Identifier: MIT
"""Explains in a sentence what is wrong with a view, and the usual cause."""

from __future__ import annotations

from grader.checks.views.placing import Layout
from grader.checks.views.questions import Question

UNWRITTEN = (0x5A5A5A5A, 0x5A5A5A5A5A5A5A5A)  # POISON of view_calls.c
BEHIND = -77  # questions.padded: an axis that there is not


def number(value: int) -> str:
    """A number that came back."""
    return "not written" if value in UNWRITTEN else str(value)


def difference(
    asked: Question,
    refused: bool,
    got: Layout | None,
    right: Layout | None,
    said: str,
) -> str:
    """How an answer differs from PyTorch's; "" if it does not."""
    if right is None:
        return "" if refused else f"got a view, expected a refusal: {said}"
    if refused:
        return f"the function refused, expected a view of {right}"
    if got is None:
        return "ndim or dtype of the view was not written, or is not a valid number"
    if got.meaning == right.meaning:
        return ""
    text = f"got {_shown(got)}, expected {right}"
    if got.dtype != right.dtype:
        text = f"dtype is {got.dtype}, expected {right.dtype}"
    elif got.device != right.device:
        text = f"device is {number(got.device)}, expected {right.device}"
    reason = _reason(asked, got, right)
    return f"{text}; {reason}" if reason else text


def _shown(got: Layout) -> str:
    """A layout; numbers that nobody wrote are told as such."""
    text = str(got)
    for value in UNWRITTEN:
        text = text.replace(str(value), "not written")
    return text


def _reason(asked: Question, got: Layout, right: Layout) -> str:
    """What such an answer mostly comes from; "" if nothing is known."""
    if BEHIND in (*got.size, *got.stride):
        return "the code reads an axis after the last one"
    if len(got.size) != len(right.size):
        return f"ndim is {len(got.size)}, expected {len(right.size)}"
    if got.size != right.size:
        return "the sizes differ"
    if got.start != right.start:
        return _misplaced(asked, got, right)
    axes = [
        axis
        for axis, (n, a, b) in enumerate(zip(right.size, got.stride, right.stride))
        if n > 1 and a != b
    ]
    return f"stride[{axes[0]}] differs" if axes else ""


def _misplaced(asked: Question, got: Layout, right: Layout) -> str:
    """Of a first element that lies elsewhere."""
    before = asked.given.start
    moved, expected = got.start - before, right.start - before
    if moved * right.bytes == expected and moved:
        return "data counts in bytes: multiply an offset in elements by dtype_bytes"
    if moved == 0:
        return "data did not move"
    return "data points elsewhere"
