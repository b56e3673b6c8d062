# SPDX-License-Identifier: MIT
"""Gives operators that subtract a mean an input far from 0."""

from __future__ import annotations

from typing import Any

import torch
from signatures import Argument

from grader.operators.case import Case
from grader.operators.entry import Operator

FAR = 1e4  # the mean of the input, where its standard deviation is 1


class Norm(Operator):
    """An operator that subtracts a mean from input."""

    def fill(
        self, argument: Argument, shape: tuple[int, ...], case: Case, rng: Any
    ) -> torch.Tensor:
        """With values = "far" the input lies around 10000: a difference of squares has
        no digit left there.
        """
        numbers = super().fill(argument, shape, case, rng)
        far = case.values == "far" and argument.name == "input"
        return numbers + FAR if far else numbers
