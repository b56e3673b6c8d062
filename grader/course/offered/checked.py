# SPDX-License-Identifier: MIT
"""Reads an instructor's TOML file and checks every word of it.

If a word is wrong, one sentence names the file, the line and the key. It also says what
was expected, what was found, and what to do.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.course.foreign import one_line
from grader.course.offered import toml_lines
from grader.errors import GraderError

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
FIRST_YEAR, LAST_YEAR = 1970, 2999  # of a moment
_SHOWN = 120  # characters of a value that a sentence repeats


@dataclass(frozen=True)
class Place:
    """A value of the file, and where it stands."""

    file: str
    lines: dict[toml_lines.Path, int]
    path: toml_lines.Path
    value: Any

    def wrong(self, expected: str, advice: str) -> GraderError:
        """The error for this value."""
        came = self.value
        try:
            said = "nothing" if came is None else json.dumps(came, default=str)
        except ValueError:  # Python writes no number of more than 4,300 digits
            said = "a number with thousands of digits"
        if len(said) > _SHOWN:
            table, many = isinstance(came, dict), isinstance(came, list)
            kind = "a table" if table else "a list" if many else "a text"
            said = f"{kind} of {len(said)} characters"
        line = toml_lines.line_of(self.lines, self.path)
        key = ".".join(map(_word, self.path)) or "the file"
        return GraderError(
            f"{self.file}:{line}: {key}: expected {expected}, got {said}; {advice}"
        )

    def table(self, allowed: Iterable[str] | None = None) -> dict[str, Place]:
        """A table's values by key; `allowed`: the words that it may have."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("a table", "write it as [name] or { key = value }")
        found = {str(key): self._below(key) for key in self.value}
        if allowed is not None:
            words = sorted(allowed)
            for key, place in found.items():
                if key not in words:
                    near = difflib.get_close_matches(key, words, n=1)
                    advice = f"did you mean {near[0]!r}?" if near else "take it out"
                    raise Place(self.file, self.lines, place.path, key).wrong(
                        f"one of {', '.join(words)}", advice
                    )
        return found

    def get(self, key: str) -> Place:
        """A key of a table; its value is None if it is not there."""
        self.table()
        return self._below(key)

    def _below(self, key: Any) -> Place:
        value = self.value[key] if isinstance(key, int) else self.value.get(key)
        return Place(self.file, self.lines, (*self.path, key), value)

    def items(self, what: str) -> list[Place]:
        """The elements of a list; none if it is not there."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.wrong(f"a list of {what}", "put it into [ ]")
        return [self._below(number) for number in range(len(self.value))]

    def text(self, what: str, *, default: str | None = None) -> str:
        """A sentence or a name."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong(what, "write it in quotes")
        return self.value

    def texts(self, what: str) -> tuple[str, ...]:
        """A list of them."""
        return tuple(place.text(what) for place in self.items(what))

    def number(
        self, what: str, *, low: float, high: float, default: float | None = None
    ) -> float:
        """A number from low to high."""
        value = self.value
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(
                f"{what} from {written(low)} to {written(high)}", "write a plain number"
            )
        if not low <= value <= high:
            raise self.wrong(
                f"{what} from {written(low)} to {written(high)}", "change the number"
            )
        return float(value)

    def whole(
        self, what: str, *, low: int, high: int, default: int | None = None
    ) -> int:
        """A whole number from low to high."""
        found = self.number(what, low=low, high=high, default=default)
        if found != int(found):
            raise self.wrong(f"{what} without a fraction", "change the number")
        return int(found)

    def flag(self, *, default: bool) -> bool:
        """True or false."""
        if self.value is None:
            return default
        if not isinstance(self.value, bool):
            raise self.wrong("true or false", "write it without quotes")
        return self.value

    def choice(self, allowed: Collection[str], what: str) -> str:
        """One of some names."""
        if self.value not in allowed:
            raise self.unknown(allowed, what)
        return str(self.value)

    def unknown(self, allowed: Collection[str], what: str) -> GraderError:
        """The error for a name that is none of these."""
        near = difflib.get_close_matches(str(self.value), allowed, n=3, cutoff=0.4)
        return self.wrong(what, f"near it: {', '.join(near)}" if near else "rename it")

    def moment(self) -> datetime:
        """A date with a time and an offset, the same moment everywhere."""
        if not isinstance(self.value, datetime) or self.value.tzinfo is None:
            raise self.wrong(
                "a date with time and offset",
                "write it as 2026-10-05T18:00:00+02:00, without quotes",
            )
        if not FIRST_YEAR <= self.value.year <= LAST_YEAR:  # days are added to it
            raise self.wrong(f"a year from {FIRST_YEAR} to {LAST_YEAR}", "change it")
        return self.value


def read(file: Path) -> Place:
    """A whole file. Raises GraderError if it is not there or no TOML."""
    shown = one_line(str(file))
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise GraderError(f"there is no {shown}: name a file that exists") from error
    except OSError as error:
        raise GraderError(f"{shown} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise GraderError(
            f"{shown} cannot be read: {error}; save it as UTF-8"
        ) from error
    try:
        value = tomllib.loads(text)
    except RecursionError as error:
        raise GraderError(
            f"{shown} has lists or tables that are nested too deeply: use fewer levels"
        ) from error
    except ValueError as error:  # a TOMLDecodeError, or a number without end
        place = re.search(r"at line (\d+)", str(error))
        line = int(place[1]) if place else max(1, len(text.splitlines()))
        raise GraderError(
            f"{file}:{line}: expected TOML, but: {error}; fix this line"
        ) from error
    return Place(str(file), toml_lines.lines(text), (), value)


def _word(word: str | int) -> str:
    if isinstance(word, int):
        return f"[{word}]"
    return word if _PLAIN.fullmatch(word) else json.dumps(word, ensure_ascii=False)


def written(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{_word(key)} = {written(value[key])}" for key in value)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return str(int(value)) if value == int(value) else str(value)
