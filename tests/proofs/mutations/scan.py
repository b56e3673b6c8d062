# SPDX-License-Identifier: MIT
"""Tokens of a C or CUDA file with their places, and which bracket closes which."""

from __future__ import annotations

import re

OPENS, CLOSES = ("(", "{", "["), (")", "}", "]")


class Tokens:
    """A file as tokens: `at` is where each begins, `kinds` the group that matched.

    The group `skip` of the pattern is left out: blanks and comments.
    """

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self.text = text
        self.at: list[int] = []
        self.tokens: list[str] = []
        self.kinds: list[str] = []
        position = 0
        while position < len(text):
            match = pattern.match(text, position)
            assert match, f"no token at {text[position : position + 20]!r}"
            if match.lastgroup != "skip":
                self.at.append(position)
                self.tokens.append(match[0])
                self.kinds.append(str(match.lastgroup))
            position = match.end()
        self.partner = self._partners()

    def _partners(self) -> dict[int, int]:
        """The closing bracket of every opening one."""
        partner, stack = {}, []
        for i, text in enumerate(self.tokens):
            if text in OPENS:
                stack.append(i)
            elif text in CLOSES:
                partner[stack.pop()] = i
        return partner
