# SPDX-License-Identifier: MIT
"""Collects the changes to a text from all parts of the rewriter, and applies them at
once.

A launch can be an argument of another launch, and a declaration can contain a lambda.
So each change touches only a few tokens. The text between them stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cusim.tokens import Token, Tokens


@dataclass(frozen=True)
class Refusal:
    """A construct that is not run, and what to use instead."""

    file: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: error: {self.sentence}"


class Refused(Exception):
    """The file holds constructs that cusim does not run: change them as they say."""

    def __init__(self, refusals: list[Refusal]):
        super().__init__("\n".join(str(refusal) for refusal in refusals))
        self.refusals = refusals


@dataclass
class Edits:
    """What to insert before and put in place of tokens."""

    tokens: Tokens
    inserted: dict[int, str] = field(default_factory=dict)  # by offset
    replaced: dict[int, tuple[int, str]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def insert(self, token: Token, text: str) -> None:
        """Put `text` before `token`; what was inserted earlier comes first."""
        self.inserted[token.start] = self.inserted.get(token.start, "") + text

    def replace(self, token: Token, text: str) -> None:
        """Put `text` in place of `token`."""
        self.replaced[token.start] = (token.end, text)

    def drop(self, token: Token) -> None:
        """Leave `token` out."""
        self.replace(token, "")

    def replace_range(self, start: int, end: int, text: str) -> None:
        """Put `text` in place of everything between two offsets."""
        for at in [at for at in self.replaced if start <= at < end]:
            del self.replaced[at]
        for at in [at for at in self.inserted if start < at < end]:
            del self.inserted[at]
        self.replaced[start] = (end, text)

    def refuse(self, token: Token, sentence: str) -> None:
        """Say why `token` is not run, and what to use instead."""
        file = token.file[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        refusal = Refusal(file, token.line, sentence)
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def apply(self) -> str:
        """The text with all changes."""
        source, parts, at = self.tokens.text, [], 0
        for start in sorted(self.inserted.keys() | self.replaced.keys()):
            if start < at:
                continue  # inside of something that was replaced
            parts.append(source[at:start])
            parts.append(self.inserted.get(start, ""))
            at = start
            if start in self.replaced:
                at, text = self.replaced[start]
                parts.append(text)
        parts.append(source[at:])
        return "".join(parts)
