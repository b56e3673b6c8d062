# SPDX-License-Identifier: MIT
"""Lists the known mistakes of students, by operator: names, formulas, sentences."""

from __future__ import annotations

import functools
import importlib

from grader.diagnosis.mistakes.mistake import Mistake
from grader.diagnosis.mistakes.strides import strides_ignored

__all__ = ["GARBAGE", "Mistake", "known_mistakes"]

#: seen by the poison that comes back, not by a formula; every operator has it
GARBAGE = Mistake(
    "accumulated_into_garbage",
    "a sum was added to the old contents of an output: before you write an output, "
    "its contents are undefined",
)


@functools.cache
def known_mistakes(operator: str) -> tuple[Mistake, ...]:
    """The known mistakes of an operator; where several fit alike the first is named."""
    name = f"{__name__}.{operator}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # it is there, and imports what is not
        return (strides_ignored("input", "weight", "bias"),)
    made: tuple[Mistake, ...] = module.MISTAKES
    return made
