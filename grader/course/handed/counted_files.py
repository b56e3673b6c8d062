# SPDX-License-Identifier: MIT
"""Decides which files of a submission count, for which task, and why others do not.

A file counts if students write it and the course offers its task. The grader uses its
own Makefile, headers and lab.toml.
"""

from __future__ import annotations

import functools
import re
from pathlib import PurePosixPath

from signatures import SIGNATURES

from grader.course import rungs
from grader.course.offered.course_file import Course
from grader.course.rungs import EXTENSION, SUFFIX, Task
from grader.course.tasks import RUNG_NAME, all_tasks, id_of

# what students write in, of a handout
RUNG = re.compile(
    r"labs/\d\d_\w+/\w+/\d\d_\w+\.(py|c|cu|cpp|case\.toml)"
    rf"|labs/05_torch_extension/csrc/\w+/({'|'.join(SIGNATURES)})\.cpp"
    rf"|labs/05_torch_extension/convlab_ext/({'|'.join(SIGNATURES)}|_bilinear)\.py",
    re.ASCII,  # the names of files that make, compilers and exports pass on
)
ASIDE = {  # folders of copies, or of what programs made
    *("kept", "solutions", "build", "__pycache__", "__MACOSX"),
    *(".git", ".venv", ".ipynb_checkpoints"),
}
ELSEWHERE = "outside of labs/<lab>/<operator>/"
BY_MACOS = "written by macOS"
UNKNOWN = "students write no file of this name"
FIRST_STEP = "a first step of lab 05, without points"
NOT_OFFERED = "the course does not have the task {}"
STRANGE = (
    "expected a name of two digits and an idea in small letters, like 00_definition{}"
)
DEPTH = 4  # parts of labs/02_naive_c/gelu/00_definition.c


def place_of(path: str) -> str | None:
    """Where a member belongs in a tree: labs/02_naive_c/...; None if in no lab."""
    parts = PurePosixPath(path).parts
    labs = {task.lab for task in all_tasks()}
    place = next((i for i, part in enumerate(parts) if part in labs), None)
    if place is None or ".." in parts or ASIDE.intersection(parts):
        return None
    return "/".join(("labs", *parts[place:]))


def elsewhere(path: str) -> tuple[str, str]:
    """How a member that is in no lab is listed, with others of its folder; and why it
    does not count.
    """
    parts = PurePosixPath(path).parts
    at = next((i for i, part in enumerate(parts) if part in ASIDE), None)
    if at is not None:
        return "/".join((*parts[: at + 1], "")), f"nothing in {parts[at]} counts"
    return "/".join((*parts[:2], "")) if len(parts) > 2 else path, ELSEWHERE


def tasks_of(name: str, made: Course) -> list[str]:
    """The offered tasks that a file counts for. One that several operators of lab 05
    share counts for all of them.
    """
    mine = _tasks_by_file().get(name) or {id_of(name).rpartition("/")[0]}
    return [task for task in made.offers if task in mine]


def why_not(name: str, made: Course) -> str:
    """Why a file of a lab does not count; "" if it does."""
    file = PurePosixPath(name)
    if file.name.startswith("._") or file.name == ".DS_Store":
        return BY_MACOS
    if mine := _tasks_by_file().get(name):
        return "" if tasks_of(name, made) else NOT_OFFERED.format(min(mine))
    task = next((t for t in all_tasks() if t.id == "/".join(file.parts[1:3])), None)
    in_ladder = task and (task.is_hunt or task.language != EXTENSION)
    if not task or not in_ladder or len(file.parts) != DEPTH or file.suffix == ".h":
        return FIRST_STEP if RUNG.fullmatch(name) else UNKNOWN
    return _own(file, task) if task.id in made.offers else NOT_OFFERED.format(task.id)


def _own(file: PurePosixPath, task: Task) -> str:
    """Of a file that the course does not have: a student's own rung."""
    if task.is_hunt:
        return "this bug hunt has no such file"
    ending = SUFFIX[task.language]
    if file.suffix != ending:
        return f"a file of {task.lab} ends with {ending}"
    plain = RUNG.fullmatch(str(file)) and RUNG_NAME.fullmatch(file.stem)
    return "" if plain else STRANGE.format(ending)


@functools.cache
def _tasks_by_file() -> dict[str, set[str]]:
    """The files that the course hands out, with the tasks that are graded by them."""
    found: dict[str, set[str]] = {}
    for task in all_tasks():
        for rung in task.rungs:
            for file in (rung.file, *rung.also):
                name = file.relative_to(rungs.ROOT).as_posix()
                shared = name.startswith("labs/05") and file.name.startswith("_")
                if RUNG.fullmatch(name) and (
                    not shared or file.stem in rung.also[0].read_text(encoding="utf-8")
                ):
                    found.setdefault(name, set()).add(task.id)
    return found
