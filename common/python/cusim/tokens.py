# SPDX-License-Identifier: MIT
"""Splits preprocessed C++ into tokens, except the text of system headers.

The rewriter reads tokens, so a `<<<` in a string is not a launch. It does not need a
syntax tree, so it needs no compiler library. `<` and `>` are always separate tokens.
Only the code that reads a launch or a template can tell a shift from two closing
brackets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_MARKER = re.compile(r'^# (\d+) ("(?:[^"\\]|\\.)*")([ \d]*)$', re.MULTILINE)

_SCAN = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<space>[ \t\f\v\r]+|\\\n)
  | (?P<directive>^[ \t]*\#[^\n]*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^ ()\\\t\v\f\n]{0,16})
        \((?s:.*?)\)(?P=delimiter)"\w*)
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"\w*)
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<mark>::|->|\.\.\.|\+\+|--|<<=|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.MULTILINE,
)

_OPENS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Token:
    """One token and where it stands."""

    kind: str  # "word", "number", "string" (raw ones too), "char" or "mark"
    text: str
    start: int  # offsets in the preprocessed text
    end: int
    line: int  # of `file`, as the compiler would say it
    file: str  # as a C string with its quotes


@dataclass
class Tokens:
    """All tokens of a text, and for each bracket the one that matches it."""

    text: str
    all: list[Token] = field(default_factory=list)
    pair: dict[int, int] = field(default_factory=dict)
    markers: list[int] = field(default_factory=list)  # offsets of line markers
    system: list[tuple[int, int]] = field(default_factory=list)  # parts skipped

    def is_text(self, index: int, *texts: str) -> bool:
        """Whether there is a token `index` and it is one of `texts`."""
        return 0 <= index < len(self.all) and self.all[index].text in texts

    def is_word(self, index: int) -> bool:
        """Whether there is a token `index` and it is a word."""
        return 0 <= index < len(self.all) and self.all[index].kind == "word"

    def joined(self, index: int) -> bool:
        """Whether token `index` follows the one before it without a space."""
        return index > 0 and self.all[index - 1].end == self.all[index].start

    def run(self, index: int, text: str) -> int:
        """How many tokens from `index` on are `text`."""
        count = 0
        while self.is_text(index + count, text):
            count += 1
        return count

    def has_marker(self, start: int, end: int) -> bool:
        """Whether a line marker or another directive stands between two offsets."""
        at = bisect_right(self.markers, start)
        return at < len(self.markers) and self.markers[at] < end


def tokenize(text: str) -> Tokens:
    """Tokens of everything but system headers (line markers with flag 3).

    gcc sets that flag, too, where the student's line uses a system header's macro: the
    file is then the one that it was before.
    """
    found = Tokens(text)
    file, line, at = '""', 1, 0
    while at < len(text):
        match = _SCAN.match(text, at)
        assert match is not None  # `mark` takes any character
        kind, word = match.lastgroup or "", match.group()
        start, at = at, match.end()
        if kind == "newline":
            line += 1
        elif kind == "space":
            line += word.count("\n")
        elif kind == "directive":
            found.markers.append(start)
            marker = _MARKER.match(text, start)
            if marker is None:
                continue
            flags = marker[3].split()
            if "3" in flags and (marker[2] != file or "1" in flags):
                after = _after_system(text, marker.end())
                end = after.start() if after else len(text)
                found.system.append((marker.end(), end))
                if after is None:
                    break
                marker = after
            file, line, at = marker[2], int(marker[1]) - 1, marker.end()
        else:
            kind = "string" if kind == "raw" else kind
            found.all.append(Token(kind, word, start, at, line, file))
            line += word.count("\n")
    _match_brackets(found)
    return found


def _after_system(text: str, start: int) -> re.Match[str] | None:
    """The next line marker that does not belong to a system header."""
    for marker in _MARKER.finditer(text, start):
        if "3" not in marker[3].split():
            return marker
    return None


def _match_brackets(tokens: Tokens) -> None:
    stack: list[int] = []
    for i, token in enumerate(tokens.all):
        if token.kind != "mark":
            continue
        if token.text in "([{":
            stack.append(i)
        elif token.text in _OPENS:
            if not stack or tokens.all[stack[-1]].text != _OPENS[token.text]:
                return  # the compiler says better what is wrong
            tokens.pair[i] = stack.pop()
            tokens.pair[tokens.pair[i]] = i


def as_written(tokens: list[Token]) -> str:
    """Tokens in a row on one line, with a space wherever there was one or more."""
    text = ""
    for before, token in zip([None, *tokens], tokens):
        text += " " if before and before.end != token.start else ""
        text += token.text
    return text


# ---- angle brackets ------------------------------------------------------------------


def angle_open(tokens: Tokens, close: int) -> int | None:
    """The `<` that the `>` at `close` belongs to, looking backwards."""
    depth, i = 0, close
    while i >= 0:
        text = tokens.all[i].text
        if text == ">":
            depth += 1
        elif text == "<" and tokens.is_text(i - 1, "<") and tokens.joined(i):
            i -= 1  # a shift
        elif text == "<":
            depth -= 1
            if depth == 0:
                return i
        elif text in _OPENS and i in tokens.pair:
            i = tokens.pair[i]
        elif text in "([{;" and tokens.all[i].kind == "mark":
            return None
        i -= 1
    return None


def angle_close(tokens: Tokens, start: int) -> int | None:
    """The `>` that the `<` at `start` belongs to, or None if it is a comparison."""
    depth, i = 0, start
    while i < len(tokens.all):
        text = tokens.all[i].text
        if text == "<" and i > start and tokens.is_text(i + 1, "<"):
            i += 1  # a shift
        elif text == "<":
            depth += 1
        elif text == ">":
            depth -= 1
            if depth == 0:
                return i
        elif text in "([{" and i in tokens.pair:
            i = tokens.pair[i]
        elif text in _OPENS or text in (";", "&&", "||"):
            return None
        i += 1
    return None


def split_commas(tokens: Tokens, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of tokens[start:end] between commas outside of all brackets."""
    parts: list[tuple[int, int]] = []
    first = i = start
    while i < end:
        text = tokens.all[i].text
        if text in "([{" and tokens.all[i].kind == "mark" and i in tokens.pair:
            i = tokens.pair[i]
        elif text == "<" and tokens.is_word(i - 1):
            close = angle_close(tokens, i)
            if close is not None and close < end:
                i = close
        elif text == ",":
            parts.append((first, i))
            first = i + 1
        i += 1
    if first < end or parts:
        parts.append((first, end))
    return parts
