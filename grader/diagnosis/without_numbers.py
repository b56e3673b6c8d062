# SPDX-License-Identifier: MIT
"""Explains a call of lab 01 that returned no numbers, by its words and shapes.

Some sentences prove a mistake by themselves. A mistake in shapes must explain every
case that failed, and at least FEW of them. It must not concern a case that passed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import torch

from grader.diagnosis.match import Trial
from grader.diagnosis.mistakes.mistake import Mistake
from grader.diagnosis.mistakes.of_python import COUNTED, NOT_CROPPED, PHRASES, REORDERED
from grader.diagnosis.separation import FEW
from grader.verdicts import Verdict

VERDICTS = (Verdict.WRONG_CONTRACT, Verdict.CRASH)
IN_ORDER = "the gradients have the right shapes in the order of forward's arguments"

_GRADIENT = re.compile(r"a gradient of shape \[([\d, ]+)\] for 'input'")
_OUTPUT = re.compile(r"'output' has shape \(([\d, ]+)\), expected")


def proved_mistake(message: str) -> Mistake | None:
    """The mistake that a sentence proves, if it proves one."""
    return next((mistake for words, mistake in PHRASES if words in message), None)


def name_it(trials: Sequence[Trial]) -> Mistake | None:
    """The mistake that explains all cases in which nothing came, if one does."""
    silent = [
        (t, t.finding.message)
        for t in trials
        if t.finding and t.finding.verdict in VERDICTS  # a busy machine is another's
    ]
    wrong = [t for t in trials if t.failed and not t.finding]
    passed = [t for t in trials if not t.failed and not t.empty]
    unordered = [words for _, words in silent if IN_ORDER not in words]
    if len(silent) - len(unordered) >= FEW:
        return REORDERED if all("returned None for" in w for w in unordered) else None
    if len(silent) < FEW:
        return None
    if all(_is_padded(*one) for one in silent):
        # a single pixel's padded gradient is summed by autograd
        where = all(map(_padding, wrong)) and not any(map(_padding, passed))
        return NOT_CROPPED if where else None
    found = [
        mistake
        for how, mistake in COUNTED.items()
        if all(_is_counted(*one, how) for one in silent)
        and all(_windows(t, how) == _windows(t) for t in passed)
    ]
    return found[0] if len(found) == 1 and not wrong else None


# ---- shapes --------------------------------------------------------------------------


def _shape(pattern: re.Pattern[str], words: str) -> list[int]:
    """The shape that a sentence tells; empty if it tells none."""
    found = pattern.search(words)
    return [int(size) for size in found[1].split(",") if size.strip()] if found else []


def _padding(trial: Trial) -> bool:
    return any(trial.setting.options.get("padding", ()))


def _is_padded(trial: Trial, words: str) -> bool:
    """Whether the gradient of the input has the size of the padded input."""
    padding = trial.setting.options.get("padding")
    if not padding:
        return False
    N, IC, IH, IW = trial.setting.inputs["input"].shape
    wide = [N, IC, IH + 2 * padding[0], IW + 2 * padding[1]]
    return _shape(_GRADIENT, words) == wide


def _is_counted(trial: Trial, words: str, how: str) -> bool:
    """Whether the result has as many windows as this way to count makes."""
    windows, shape = _windows(trial, how), _shape(_OUTPUT, words)
    if len(windows) != 2:
        return False
    if not all(windows) and not shape:
        return True  # no window at all: anything may be raised
    if len(shape) == 4:
        return shape[2:] == windows
    return len(shape) == 3 and shape[2] == math.prod(windows)


def _windows(trial: Trial, how: str = "") -> list[int]:
    """OH and OW as they come of one way to count; nothing for an operator without the
    options of a convolution.
    """
    options, inputs = trial.setting.options, trial.setting.inputs
    weight = inputs.get("weight")
    kernel = options.get("kernel_size", () if weight is None else weight.shape[2:])
    if not {"stride", "padding", "dilation"} <= set(options) or len(kernel) != 2:
        return []
    each = zip(
        inputs["input"].shape[2:],
        kernel,
        options["stride"],
        options["padding"],
        options["dilation"],
    )
    return [_along(how, *axis) for axis in each]


def _along(how: str, size: int, kernel: int, stride: int, pad: int, dilate: int) -> int:
    """The windows along one axis, counted by torch for another size or option."""
    stride = 1 if how == "stride" else stride
    dilate = 1 if how == "dilation" else dilate
    size += {"padding": 0, "one side": pad}.get(how, 2 * pad)
    size += {"up": stride - 1, "span": 1}.get(how, 0)
    if size <= dilate * (kernel - 1):
        return 0
    words = ((kernel, 1), (dilate, 1), (0, 0), (stride, 1))
    column = torch.zeros(1, 1, size, 1)
    return torch.nn.functional.unfold(column, *words).shape[-1] - (how == "last")
