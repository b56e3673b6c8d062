# SPDX-License-Identifier: MIT
"""Describes each operator to the grader: one module and one case file per operator."""

from __future__ import annotations

import functools
import importlib

from signatures import SIGNATURES
from signatures.of_exhibits import ALL, EXHIBITS, number

from grader.operators.case import Case
from grader.operators.entry import Operator, Truth

__all__ = ["SIGNATURES", "Case", "Operator", "Truth", "get", "number"]


@functools.cache
def get(name: str) -> Operator:
    """The entry of an operator; KeyError if there is no such operator."""
    if name not in ALL:
        raise KeyError(name)
    folder = f"{__name__}.exhibits" if name in EXHIBITS else __name__
    operator = importlib.import_module(f"{folder}.{name}").OPERATOR
    assert isinstance(operator, Operator)
    return operator
