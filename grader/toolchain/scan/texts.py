# SPDX-License-Identifier: MIT
"""Searches a rung's text for words that no rung needs.

Such words ask whether the rung is watched, mark lines, or are machine code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.course.rungs import Rung
from grader.toolchain.products import SAME, products

# asking for, or switching off, the sanitizers of the memory check; in lower case
HIDING = (
    "no_sanitize",
    "no_address_safety",
    "address_sanitizer",
    "__sanitize",
    "__asan",
    "__ubsan",
    "__tsan",
    "__has_feature",
    "__optimize__",
    "__no_inline__",
    "disable_sanitizer",
    "__builtin_constant_p",
    "object_size",
    "vec_one_by_one",
)
# of the system, and vector.h
IN_HEADERS = ("__builtin_constant_p", "object_size", "vec_one_by_one")
JOINED = re.compile(r"(\\|\?\?/)[ \t\f\v\0]*\r?\n")  # a line that goes on
_MARK = re.compile(r'# \d+ "(?P<file>(?:[^"\\]|\\.)*)"(?P<flags>(?: \d)*)')
# a mark in the source: # 7 "file", not #line
_COMMENT = r"(?:[ \t\f\v]|/\*.*?\*/)*"
_OWN_MARK = re.compile(rf"^{_COMMENT}(?:#|%:|\?\?=){_COMMENT}\d", re.M | re.S)
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)+'")
_BY_HAND = re.compile(
    r'\b(?:__)?asm(?:__)?\b|\b(?:__)?section(?:__)?[\s(]*\(\s*(?:u8|[uUL])?"'
)
BY_HAND = (
    "contains '{}'. With this word a file can contain machine code that was not "
    "written in C. Write your code in C, with vector.h for vectors"
)


def hides(rung: Rung, words: Sequence[str] = HIDING) -> str:
    """A sentence if the text of a rung, or of a header beside it, asks whether, or
    that, it is not watched.
    """
    for file in (rung.file, *rung.headers):
        text = file.read_text(encoding="utf-8", errors="replace").lower()
        joined = JOINED.sub("", text)
        if _OWN_MARK.search(joined):
            return f"declares that its lines belong to another file: {SAME}"
        if found := said(joined, words):
            return found
    return ""


def hides_in_tokens(rung: Rung, folder: str) -> str:
    """The same of its text with all macros expanded, as the compiler saw it."""
    always = [word for word in HIDING if word not in IN_HEADERS]
    for text in map(str.lower, expanded(rung, folder)):
        if found := said(text, always) or said(own_lines(text, rung), IN_HEADERS):
            return found
    return ""


def machine_code(rung: Rung, folder: str) -> str:
    """A sentence if the rung's own text, with all macros expanded, has assembler, or
    names the section that something goes into.
    """
    for text in expanded(rung, folder):
        if found := _BY_HAND.search(_QUOTED.sub('""', own_lines(text, rung))):
            return BY_HAND.format(re.split(r"\W", found[0])[0])
    return ""


def expanded(rung: Rung, folder: str) -> list[str]:
    """The text of a rung with all macros expanded, for each dtype that was compiled."""
    files = (file for file in products(rung, folder, "i").values() if file.exists())
    return [file.read_text(encoding="utf-8", errors="replace") for file in files]


def own_lines(text: str, rung: Rung) -> str:
    """The lines of preprocessed text that are of the rung, or of a header beside it, by
    the marks that the preprocessor leaves where a header begins (1) and ends (2). A
    path can be written in many ways, so a header goes by its name.
    """
    ours = {file.name.lower() for file in (rung.file, *rung.headers)}
    foreign: list[bool] = []  # the headers around a line
    own = []
    for line in text.split("\n"):
        if mark := _MARK.fullmatch(line):
            flags = mark["flags"].split()
            if "1" in flags:
                foreign.append(mark["file"].rpartition("/")[2].lower() not in ours)
            elif "2" in flags and foreign:
                foreign.pop()
        elif not any(foreign):
            own.append(line)
    return "\n".join(own)


def said(text: str, words: Sequence[str]) -> str:
    """A sentence about the first of these words in a text, or ""."""
    found = next((word for word in words if word in text), None)
    return f"contains '{found}': {SAME}" if found else ""
