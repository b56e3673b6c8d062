# SPDX-License-Identifier: MIT
"""Describes each operator to the grader: one module and one case file per operator."""

from __future__ import annotations

import functools
import importlib

from signatures import SIGNATURES

from grader.operators.case import Case
from grader.operators.entry import Operator, Truth

__all__ = ["Case", "Operator", "Truth", "get", "number"]


@functools.cache
def get(name: str) -> Operator:
    """The entry of an operator; KeyError if there is no such operator."""
    if name not in SIGNATURES:
        raise KeyError(name)
    operator = importlib.import_module(f"grader.operators.{name}").OPERATOR
    assert isinstance(operator, Operator)
    return operator


def number(name: str) -> int:
    """Its position in operators.h: how a command names it to a worker."""
    return list(SIGNATURES).index(name)
