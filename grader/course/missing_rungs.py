# SPDX-License-Identifier: MIT
"""Finds rungs that lab.toml names but that have no file.

A student may delete a starter: the grader still grades the other files. So a missing
file is a remark in grade and an error in lint. In a tree made for a course, only files
that were handed out can be missing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from grader.course import rungs
from grader.course.exhibits import HUNT
from grader.course.handed import starters
from grader.course.tasks import all_tasks, id_of

NAMED = 4  # rungs that a sentence names


def absent() -> list[str]:
    """A sentence for each lab.toml that names rungs without a file."""
    tasks = all_tasks()
    there = {rung.id for task in tasks for rung in task.rungs}
    sentences = []
    handed = {
        id_of(name) for name in starters.read(rungs.ROOT)
    }  # none in the repository
    for toml in sorted((rungs.ROOT / "labs").glob("[0-9][0-9]_*/lab.toml")):
        lab = toml.parent.name
        entries = tomllib.loads(toml.read_text(encoding="utf-8"))
        used = {
            use.target
            for task in tasks
            for rung in task.rungs
            for use in rung.uses
            if task.lab == lab
        }
        names = {f"{lab}/{name}" for name in entries.get("rung", {})}
        names |= {f"{lab}/{HUNT}/{name}" for name in entries.get(HUNT, {})}
        names |= used | set(_kernels(entries))
        names &= handed or names
        missing = sorted(n for n in names if n.count("/") == 2 and n not in there)
        if missing:
            sentences.append(_sentence(str(toml.relative_to(rungs.ROOT)), missing))
    return sentences


def _kernels(entries: Mapping[str, Any]) -> Iterator[str]:
    """The rungs that lab 05 takes its kernels from."""
    for ladder in entries.get("ladder", {}).values():
        yield from ladder.get("kernels", {}).values()


def _sentence(toml: str, missing: list[str]) -> str:
    listed = ", ".join(missing[:NAMED])
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    return (
        f"{toml} names rungs that have no file: {listed}{more}. If another file calls "
        "such a rung, a lower rung or a given object is used instead"
    )
