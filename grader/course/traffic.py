# SPDX-License-Identifier: MIT
"""Reads how much a rung of lab 04 may move: `[rung."...".traffic]` in lab.toml.

A limit is a number or a formula of the case's sizes, "1.1 * 12 * COUNT". A lab.toml can
come from anywhere, so a formula may only contain arithmetic.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from signatures import DIRECTIONS

from grader.errors import GraderError

MEANING = {  # in lab.toml -> in a message
    "global_sectors_per_request": "sectors of 32 bytes for each request of global "
    "memory",
    "shared_wavefronts_per_request": "wavefronts for each request of shared memory",
    "requests": "requests of global memory",
    "bytes": "bytes of global memory",
}
_DOES: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Limits:
    """What one direction may move at most."""

    direction: str
    case: str  # of the operator's speed cases, or of its others
    most: tuple[tuple[str, float | str], ...]  # a word of MEANING, number or formula


def parse(where: str, entry: Any) -> tuple[Limits, ...]:
    """The traffic words of a rung. Raises GraderError, which begins with `where`."""
    if not isinstance(entry, Mapping):
        raise GraderError(
            f"{where}: 'traffic' is {entry!r}, expected a table like "
            "{ forward = ... }"
        )
    made = []
    for direction, words in entry.items():
        if direction not in DIRECTIONS or not isinstance(words, Mapping):
            raise GraderError(
                f"{where}: 'traffic.{direction}' is {words!r}, but 'traffic' has "
                "only the tables 'forward' and 'backward'"
            )
        cases = words.get("case", ())
        most = {word: limit for word, limit in words.items() if word != "case"}
        unknown = sorted(set(most) - set(MEANING))
        if unknown or not cases:
            said = f"unknown key {unknown[0]!r}" if unknown else "no case"
            raise GraderError(
                f"{where}: 'traffic.{direction}' has {said}, expected the key 'case' "
                f"and some of {', '.join(MEANING)}"
            )
        for word, limit in most.items():
            if isinstance(limit, str):
                _parsed(f"{where}: traffic.{direction}.{word}", limit)
        for case in [cases] if isinstance(cases, str) else cases:
            made.append(Limits(direction, str(case), tuple(most.items())))
    return tuple(made)


def value(limit: float | str, sizes: Mapping[str, int]) -> float:
    """A limit as a number. Raises GraderError for a size that the case lacks."""
    if not isinstance(limit, str):
        return float(limit)
    return _value(_parsed("traffic", limit), sizes, limit)


def _parsed(where: str, formula: str) -> ast.expr:
    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise GraderError(
            f"{where}: {formula!r} is not a formula, expected one like "
            '"1.1 * 12 * COUNT"'
        ) from error


def _value(node: ast.expr, sizes: Mapping[str, int], formula: str) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in sizes:
            return float(sizes[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _DOES:
            sides = (_value(side, sizes, formula) for side in (left, right))
            return _DOES[type(op)](*sides)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, sizes, formula)
    raise GraderError(
        f"the limit {formula!r} contains {ast.unparse(node)!r}, expected only numbers, "
        f"+ - * / ( ) and some of the sizes {', '.join(sorted(sizes))}"
    )
