# SPDX-License-Identifier: MIT
"""A class list, `id,name` a line: who has handed in nothing, and who is not on it."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from pathlib import Path

from grader.course.foreign import one_line
from grader.course.handed.inbox import named
from grader.errors import GraderError

HEAD = ["id", "name"]


def read(file: Path) -> dict[str, str]:
    """id -> name. Raises GraderError for a file or a line that is no such list."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
    except (OSError, ValueError, csv.Error) as error:
        raise GraderError(
            f"ROSTER= is {one_line(str(file))!r}, expected a CSV file with id,name in "
            f"each line: {error}"
        ) from error
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        words = [word.strip() for word in row]
        if not any(words) or (number == 1 and [x.lower() for x in words[:2]] == HEAD):
            continue
        if len(words) < 2 or not words[0]:
            raise GraderError(
                f"{one_line(file.name)}:{number}: expected a line like id,name, got "
                f"{one_line(','.join(row))!r}"
            )
        found[named(words[0])] = named(words[1])
    return found


def nothing(roster: Mapping[str, str], students: Collection[str]) -> list[str]:
    """Those of the list of whom nothing came, by id or by name."""
    return [
        f"{id_} ({name})" if name else id_
        for id_, name in roster.items()
        if not {id_, name} & {*students}
    ]


def strange(roster: Mapping[str, str], students: Collection[str]) -> list[str]:
    """Those who handed in and are not on the list; nobody if there is no list."""
    names = {*roster, *roster.values()}
    return [student for student in students if roster and student not in names]
