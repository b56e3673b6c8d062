# SPDX-License-Identifier: MIT
"""Declares and reads the options of a command: NAME=value, after make or before it.

make puts each value into the environment without change. After `python -m grader
COMMAND` the same words are allowed. A word without a name is T.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from grader.errors import GraderError

LARGEST = 10**12  # of a number: generators of random numbers take no larger seed

V = TypeVar("V")
Kind = Callable[[str, str], V]  # the value of a name and a text; "" if there is none


@dataclass(frozen=True)
class Option(Generic[V]):
    """One option, as a command declares it."""

    name: str
    meaning: str  # for --help
    kind: Kind[V]


class Arguments:
    """The values of a command's options: `arguments[SEED]`."""

    def __init__(
        self, options: Sequence[Option[Any]], words: Mapping[str, str]
    ) -> None:
        """Raises GraderError for a value that an option does not take."""
        self.words = {one.name: words.get(one.name, "") for one in options}
        self._values = {
            one: one.kind(one.name, words.get(one.name, "")) for one in options
        }

    def __getitem__(self, option: Option[V]) -> V:
        value: V = self._values[option]
        return value


def by_name(words: Sequence[str]) -> dict[str, str]:
    """The words behind a command."""
    named = (word if "=" in word else f"T={word}" for word in words)
    return {name: value for name, _, value in (word.partition("=") for word in named)}


# ---- kinds ---------------------------------------------------------------------------


def text(name: str, value: str) -> str:
    """A value as it stands; "" if there is none."""
    return value


def several(name: str, value: str) -> tuple[str, ...]:
    """The words of a value, between commas or blanks."""
    return tuple(value.replace(",", " ").split())


def switch(name: str, value: str) -> bool:
    """Whether a switch is on: anything but nothing and 0."""
    return value.strip() not in ("", "0")


def number(least: int = 0, most: int = LARGEST) -> Kind[int | None]:
    """A whole number; None if there is none. Raises GraderError for another value."""

    def kind(name: str, value: str) -> int | None:
        value = value.strip()
        digits = value.isdecimal() and len(value) <= len(str(LARGEST))
        if value and not (digits and least <= int(value) <= most):
            raise GraderError(
                f"{name}= is {value!r}, expected a whole number from {least} to {most}"
            )
        return int(value) if value else None

    return kind


def one_of(*words: str) -> Kind[str]:
    """One of these words, the first if none is said. Raises GraderError for another."""

    def kind(name: str, value: str) -> str:
        value = value.strip() or words[0]
        if value not in words:
            raise GraderError(f"{name}= is {value!r}, expected {' or '.join(words)}")
        return value

    return kind


# ---- options of several commands -----------------------------------------------------

T = Option("T", "a task or rung: a path, an id, or a prefix of ids", text)
LAB = Option("LAB", "only labs that begin with these letters, for example 02", text)
SEED = Option("SEED", "repeat a run's random numbers", number())
FRESH = Option("FRESH", "1 checks everything again", switch)
JOBS = Option("JOBS", "how many files are graded at the same time", number(1, 1024))
COURSE = Option("COURSE", "the course's file", text)
