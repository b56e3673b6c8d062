# SPDX-License-Identifier: MIT
"""Finds exchanged arguments in a failed call of fold or unfold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

ORDERS = {
    "fold": "fold(input, output_size, kernel_size, dilation, padding, stride), where "
    "output_size is the size of the image",
    "unfold": "unfold(input, kernel_size, dilation, padding, stride)",
}
WINDOW = ("kernel_size", "dilation", "padding", "stride")
WHERE = "torch/nn/functional.py"

Pair = tuple[int, int]


def order_of(line: str | None) -> str:
    """What a line's call of fold or unfold takes; "" if it has none, or several."""
    called = re.findall(r"\b(?:functional|F)\.(fold|unfold)\(", line or "")
    return (
        f"torch's order of arguments is {ORDERS[called[0]]}" if len(called) == 1 else ""
    )


def mixed_up(error: BaseException, right: Mapping[str, Pair]) -> str:
    """What is exchanged in the call of fold or unfold that raised an error; "" if there
    is no such call, or if something else is wrong with it. `right` are the values of
    the case, besides `output`, the size of the result.
    """
    name, given = _call(error.__traceback__)
    asked = {word: right[word] for word in WINDOW if word in right}
    if not name or len(asked) < len(WINDOW):
        return ""
    wrong = [word for word in WINDOW if given[word] != asked[word]]
    if wrong and sorted(given[w] for w in wrong) == sorted(asked[w] for w in wrong):
        came = ", ".join(f"{word} {given[word]}" for word in wrong)
        wanted = ", ".join(f"{word} {asked[word]}" for word in wrong)
        return (
            f"{name} got {came}, but the case has {wanted}: the order of arguments is "
            + (ORDERS[name].partition(", where")[0])
        )
    size = given.get("output_size")
    if not wrong and size == right.get("output") != right.get("output_size"):
        return (
            f"fold got the size of the output, {size}, as output_size, but output_size "
            "is the " + (f"size of the image, here {right['output_size']}")
        )
    return ""


def _call(trace: TracebackType | None) -> tuple[str, dict[str, Pair]]:
    """The call of fold or unfold on the way to an error, and its arguments as pairs."""
    found: tuple[str, dict[str, Pair]] = ("", {})
    while trace:
        code, names = trace.tb_frame.f_code, trace.tb_frame.f_locals
        if code.co_name in ORDERS and code.co_filename.endswith(WHERE):
            words = [w for w in (*WINDOW, "output_size") if w in names]
            found = code.co_name, {word: _pair(names[word]) for word in words}
        trace = trace.tb_next
    return found


def _pair(value: Any) -> Pair:
    """An int stands for both axes; what is neither int nor pair equals nothing."""
    if isinstance(value, int):
        return value, value
    several = tuple(value) if isinstance(value, tuple | list) else ()
    if len(several) != 2 or not all(isinstance(one, int) for one in several):
        return -1, -1
    return several
