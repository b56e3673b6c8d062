# SPDX-License-Identifier: MIT
"""A rung's code as one number, by which a list of mutations knows that it changed.

Comments and docstrings are not drawn from, so they do not count. A comment edited in
place needs no new draw as long as every token keeps its line and column.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

COMMENT_IN_C = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
Span = tuple[tuple[int, int], tuple[int, int]]  # line from 1 and column, begin and end


def fingerprint(file: Path) -> str:
    """SHA-256 of a rung's code, every token where it stands."""
    return hashlib.sha256(code(file.read_text(), file.suffix).encode()).hexdigest()


def code(text: str, suffix: str) -> str:
    """The text with blanks where comments were, without blanks at the ends of lines."""
    bare = _python(text) if suffix == ".py" else COMMENT_IN_C.sub(_c_blanks, text)
    return "\n".join(line.rstrip() for line in bare.split("\n"))


def _c_blanks(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _python(text: str) -> str:
    lines = text.split("\n")
    for (first, begin), (last, end) in _comments_and_docstrings(text):
        for number in range(first, last + 1):
            line = lines[number - 1]
            start = begin if number == first else 0
            stop = end if number == last else len(line)
            lines[number - 1] = line[:start] + " " * (stop - start) + line[stop:]
    return "\n".join(lines)


def _comments_and_docstrings(text: str) -> Iterator[Span]:
    docstrings = {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.start in docstrings:
            yield token.start, token.end
