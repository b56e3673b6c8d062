# SPDX-License-Identifier: MIT
"""Finds the line of a key in a TOML file, because Python's parser does not report it.

A key is a path: ("part", 0, "tasks", "02_naive_c/conv2d", "points"). The search knows
headers, keys, and elements of a list that begin on their own line. For everything else
it gives the nearest key around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Path = tuple[str | int, ...]

_WORD = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[A-Za-z0-9_-]+"
_NAME = rf"(?:{_WORD})(?:\s*\.\s*(?:{_WORD}))*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_NAME})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_NAME})\s*=(.*)$")
_INLINE = re.compile(rf"[{{,]\s*({_NAME})\s*=")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|#.*$")


def lines(text: str) -> dict[Path, int]:
    """The line of every key, counted from 1."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    at: Path = ()
    depth, element = 0, -1
    for number, line in _logical(text):
        if depth == 0 and (header := _HEADER.match(line)):
            table = _absolute(_split(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
            continue
        rest = line
        if depth == 0:
            if not (key := _KEY.match(line)):
                continue
            at, element, rest = (*table, *_split(key[1])), -1, key[2]
            for end in range(len(table) + 1, len(at) + 1):
                found.setdefault(at[:end], number)
        elif depth == 1 and re.match(r"\s*[{\"'\w-]", line):
            element += 1
            found.setdefault((*at, element), number)
        where = (*at, element) if element >= 0 else at
        for inner in _INLINE.findall(rest):
            found.setdefault((*where, *_split(inner)), number)
        bare = _STRING.sub("", rest)
        depth += len(re.findall(r"[\[{]", bare)) - len(re.findall(r"[\]}]", bare))
    return found


def line_of(found: dict[Path, int], path: Path) -> int:
    """The line of a key, or of what it stands in; 1 for what is not there at all."""
    while path and path not in found:
        path = path[:-1]
    return found.get(path, 1)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without those inside of a string of several lines."""
    mark = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if mark:
            mark = "" if mark in line else mark
            continue
        opened = next((m for m in ('"""', "'''") if line.count(m) == 1), "")
        if opened:
            mark, line = opened, f'{line.split(opened)[0]}""'
        yield number, line


def _split(name: str) -> Path:
    return tuple(
        word[1:-1] if word[0] in "\"'" else word for word in re.findall(_WORD, name)
    )


def _absolute(path: Path, counts: dict[Path, int]) -> Path:
    """A header's path: below a list of tables it means the last one."""
    made: Path = ()
    for place, word in enumerate(path):
        made = (*made, word)
        if made in counts and place < len(path) - 1:
            made = (*made, counts[made])
    return made
