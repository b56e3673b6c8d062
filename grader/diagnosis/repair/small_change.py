# SPDX-License-Identifier: MIT
"""Describes one small change of a student's file, and says where it is."""

from __future__ import annotations

from dataclasses import dataclass

WORDS = {  # kind of a change -> how it is told: what stands there, not what would help
    "name": "another name in place of `{}`",
    "number": "another number in place of `{}`",
    "operator": "another operator in place of `{}`",
    "sign": "another sign of `{}`",
    "order": "the operands of `{}` in another order",
    "arguments": "another order of the arguments in `{}`",
    "elements": "another order of the elements in `{}`",
    "axes": "another order of the axes in `{}`",
    "exchange": "`{}` exchanged with another part of its statement",
    "index": "another index in `{}`",
    "function": "another function in place of `{}`",
    "statement": "another statement in place of `{}`",
    "operation": "another operator in `{}`",
    "next": "the statement `{}` behind the next one",
    "without": "no `{}`",
    "factor": "one more factor beside `{}`",
    "bound": "another bound in `{}`",
    "reset": "`{}` set to 0 again inside of the loop",
    "term": "one more term beside `{}`",
    "condition": "one more condition beside `{}`",
    "test": "another condition in place of `{}`",
    "value": "another value in place of `{}`",
    "call": "one more call beside `{}`",
    "brackets": "other brackets or another order in `{}`",
    "names": "two other names in place of `{}`",
    "each": "another name in place of each `{}`",
    "functions": "another function in place of every `{}`",
    "both": "a change of `{}`, and the same change for the other axis",
    "swap": "`{}` exchanged with another name in the whole function",
    "loops": "the loop `{}` exchanged with the next one",
}


@dataclass(frozen=True)
class Edit:
    """One change: its line in the student's file, from 1 on, its kind (a key of WORDS),
    what stands there, and what would stand there instead, which nobody is told.
    """

    line: int
    kind: str
    old: str
    new: str

    @property
    def words(self) -> str:
        """The change in words."""
        return WORDS[self.kind].format(self.old)
