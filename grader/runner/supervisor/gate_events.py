# SPDX-License-Identifier: MIT
"""Decodes what the gates' process sends: each line is an Event, or Malformed.

The process has loaded a student's code, which may write other lines. A line is accepted
only if it has the form that tools_worker.py writes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from grader.course.foreign import short

# what a process may say of a gate; more is known outside of it: timeout, died, grader
SAYS = ("returned", "broken", "borrowed", "skipped", "raised", "slip", "unwritten")
MOST_DIMS = 64
MOST = 1 << 60  # elements along a dimension


class Malformed(ValueError):
    """No line of tools_worker.py."""


@dataclass(frozen=True)
class Told:
    """A tensor that came back; its numbers come through the socket."""

    name: str
    dtype: str  # torch's name, without "torch."
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """One step: "ready", "begin" and "done" of a job of a gate, "end"."""

    event: str
    gate: str = ""
    job: int = 0
    kind: str = ""  # of "done": one of SAYS
    message: str = ""
    location: str = ""
    results: tuple[Told, ...] = ()


def decoded(line: bytes) -> Event:
    """The event of a line. Raises Malformed."""
    try:
        words = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed("no JSON") from error
    if not isinstance(words, dict):
        raise Malformed("no object")
    event = Event(
        _one_of(words.get("event"), ("ready", "begin", "done", "end")),
        _text(words.get("gate", ""), 40),
        _number(words.get("job", 0), 1 << 16),
        _one_of(words.get("kind", ""), ("", *SAYS)),
        _text(words.get("message", ""), 1000),
        _text(words.get("location", ""), 1000),
        tuple(map(_described, _list(words.get("results", []), 1 << 10))),
    )
    if (event.event == "done") != bool(event.kind):
        raise Malformed("only the event done may have a kind")
    return event


def _described(value: Any) -> Told:
    name, dtype, sizes = _list(value, 3, least=3)
    dims = tuple(_number(size, MOST) for size in _list(sizes, MOST_DIMS))
    return Told(_text(name, 40), _text(dtype, 20), dims)


def _one_of(value: Any, words: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in words:
        raise Malformed("an unknown word")
    return value


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str):
        raise Malformed("no text")
    return short(value, most)


def _number(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise Malformed("a number is missing or out of range")
    return value


def _list(value: Any, most: int, least: int = 0) -> list[Any]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise Malformed("a list is missing or has a wrong length")
    return value
