# SPDX-License-Identifier: MIT
"""Says what the variables of a student's line hold when the line raises an exception.

An exception about sizes shows numbers, but no variables. An exception about None does
not show which variable is None.
"""

from __future__ import annotations

import linecache
import re
from types import TracebackType
from typing import Any

import torch

ABOUT_SIZES = re.compile(
    r"\b(sizes?|shapes?|dim(ension)?s?|ax[ei]s|broadcast)\b", re.IGNORECASE
)
FEW = 4  # variables that are shown


def words_of(error: BaseException) -> str:
    """What an exception says; "" if its own class cannot."""
    try:
        return str(error)
    except BaseException:
        return ""


def none_in_line(error: BaseException, path: str) -> str:
    """Which variable of the student's line is None, if the error is about None."""
    if "NoneType" not in words_of(error) or (trace := error.__traceback__) is None:
        return ""
    while trace.tb_next:
        trace = trace.tb_next
    if not trace.tb_frame.f_code.co_filename.startswith(path):
        return ""
    none = [name for name, value in _variables(trace) if value is None]
    function = trace.tb_frame.f_code.co_name
    return f"; `{none[0]}` is None in `{function}`" if len(none) == 1 else ""


def sizes_in_line(error: BaseException, file: str, line: int) -> str:
    """The sizes of the tensors in this line, if the error is about sizes."""
    if not ABOUT_SIZES.search(words_of(error)):
        return ""
    trace = error.__traceback__
    found: list[tuple[str, Any]] = []
    while trace:
        if (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == (file, line):
            found = _variables(trace)
        trace = trace.tb_next
    sizes = [
        f"`{name}` has {_sizes(value)}"
        for name, value in found
        if isinstance(value, torch.Tensor)
    ]
    return f"; in this line, {', '.join(sizes[:FEW])}" if sizes else ""


def _sizes(tensor: torch.Tensor) -> str:
    """A tensor's sizes in words."""
    return f"the sizes {list(tensor.shape)}" if tensor.dim() else "no axis"


def _variables(trace: TracebackType) -> list[tuple[str, Any]]:
    """The local variables that a line reads, with what they hold."""
    frame = trace.tb_frame
    line = linecache.getline(frame.f_code.co_filename, trace.tb_lineno)
    read = line.partition("#")[0]
    if assigned := re.match(r"\s*[\w, ]+=(?!=)", read):
        read = read[assigned.end() :]
    names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?!\w|\s*=[^=])", read))
    return [(n, frame.f_locals[n]) for n in names if n in frame.f_locals]
