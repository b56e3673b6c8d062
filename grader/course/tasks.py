# SPDX-License-Identifier: MIT
"""Makes tasks from the files of the labs; lab.toml only adds words about them.

Nothing here loads student code.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from signatures import SIGNATURES
from signatures.view_names import TENSOR_VIEW

from grader.course import architectures, bands, exhibits, renamed, rungs, traffic
from grader.course.candidates import verify as verify_uses
from grader.course.exhibits import HUNT
from grader.course.foreign import one_line
from grader.course.offered.course_file import Course
from grader.course.offered.narrowed import course_here, narrowed
from grader.course.rungs import (
    DIRECT,
    EXTENSION,
    NUMERICS,
    STEPS,
    SUFFIX,
    Rung,
    Selection,
    Task,
)
from grader.course.uses import covers
from grader.course.uses import parse as parse_uses
from grader.errors import GraderError

NEAR = 4  # names listed for one that does not exist
LARGEST = 1 << 20  # bytes of a rung
RUNG_NAME = re.compile(r"\d\d(_[a-z0-9]+){1,4}")
EXTRA_FLAGS = ("-O2", "-O3", "-Ofast", "-ffast-math", "-funroll-loops", "-fno-openmp")

_LAB_WORDS = {"title", "language", "ladder", "rung", HUNT}
_LADDER_WORDS = {"points", "core", "hints", "speed", "bench", "dtypes"}
_OPERATOR_WORDS = {"points", "core", "hints", "kernels"}  # of lab 05
_CUDA_WORDS = {"traffic", "architectures", "needs", "dtypes"}
_RUNG_WORDS = {"uses", "covers", "below", "flags", "numerics", "hints", *_CUDA_WORDS}


# ---- reading labs --------------------------------------------------------------------


@functools.cache
def all_tasks() -> tuple[Task, ...]:
    """Every task of every lab, in the order of the course."""
    tasks: list[Task] = []
    for toml in sorted((rungs.ROOT / "labs").glob("[0-9][0-9]_*/lab.toml")):
        tasks += _lab(toml)
    verify_uses(tasks)
    return narrowed(tasks, course_here(tasks))


def here() -> Course | None:
    """The course that this tree was made for; None in the repository."""
    return course_here(all_tasks())


def offered_tasks() -> tuple[Task, ...]:
    """Those that the course of this tree has; in the repository all of them."""
    return tuple(task for task in all_tasks() if task.offered)


def _lab(toml: Path) -> list[Task]:
    try:
        entries = tomllib.loads(toml.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise GraderError(f"{_shown(toml)} is not valid TOML: {error}") from error
    _known_words(toml, "the file", entries, _LAB_WORDS)
    language = entries.get("language", "")
    if language == EXTENSION:
        return [*_extension(toml, entries), *_hunt(toml, entries)]
    if language not in SUFFIX:
        raise GraderError(
            f"{_shown(toml)}: 'language' is {language!r}, expected one of "
            f"{', '.join(SUFFIX)}"
        )
    return [*_ladders(toml, entries), *_hunt(toml, entries)]


def _ladders(toml: Path, entries: Mapping[str, Any]) -> list[Task]:
    """The operators of labs 01 to 04."""
    lab, language = toml.parent.name, entries["language"]
    rungs = entries.get("rung", {})
    tasks = []
    for operator, entry in entries.get("ladder", {}).items():
        _known_words(toml, f"ladder.{operator}", entry, _LADDER_WORDS)
        if operator not in SIGNATURES and operator != TENSOR_VIEW:
            raise GraderError(f"{_shown(toml)}: no operator is called {operator!r}")
        task_id = f"{lab}/{operator}"
        points = _points(toml, operator, entry)
        place = f"{_shown(toml)}: ladder.{operator}"
        files = _files(toml.parent / operator, SUFFIX[language])
        more = architectures.dtypes(place, SUFFIX[language], entry)
        tasks.append(
            Task(
                lab,
                operator,
                language,
                points,
                bool(entry.get("core", False)),
                _hints(place, entry),
                tuple(_rung(toml, task_id, file, rungs, more) for file in files),
                bands.parse(
                    place, entry.get("speed"), points, without_bands=language == "cuda"
                ),
                tuple(entry.get("bench", ())),
            )
        )
    return _in_order(tasks)


def _in_order(tasks: list[Task]) -> list[Task]:
    order = [*SIGNATURES, TENSOR_VIEW]
    return sorted(tasks, key=lambda task: order.index(task.operator))


def _extension(toml: Path, entries: Mapping[str, Any]) -> list[Task]:
    """The operators of lab 05. A rung is a step: its C++ and the operator's Python."""
    lab, tasks = toml.parent, []
    for operator, entry in entries.get("ladder", {}).items():
        _known_words(toml, f"ladder.{operator}", entry, _OPERATOR_WORDS)
        if operator not in SIGNATURES:
            raise GraderError(f"{_shown(toml)}: no operator is called {operator!r}")
        name = f"{lab.name}/{operator}"
        package = lab / "convlab_ext"
        rules, shared = package / f"{operator}.py", sorted(package.glob("_[a-z]*.py"))
        steps = [(step, lab / "csrc" / step / f"{operator}.cpp") for step in STEPS]
        there = [(s, file) for s, file in steps if file.is_file() and rules.is_file()]
        tasks.append(
            Task(
                lab.name,
                operator,
                EXTENSION,
                _points(toml, operator, entry),
                bool(entry.get("core", False)),
                _hints(f"{_shown(toml)}: ladder.{operator}", entry),
                tuple(
                    Rung(name, file, step=step, also=(rules, *shared))
                    for step, file in there
                ),
            )
        )
    return _in_order(tasks)


def _hunt(toml: Path, entries: Mapping[str, Any]) -> list[Task]:
    """The bug hunt of a lab, if there is one: a task whose files are exhibits. A file
    that lab.toml does not know is none of them (missing_rungs.py).
    """
    lab, language = toml.parent, entries["language"]
    task_id = f"{lab.name}/{HUNT}"
    found, points = [], 0.0
    for file in _files(lab / HUNT, SUFFIX[language]):
        if file.stem not in entries.get(HUNT, {}):
            continue
        entry = entries[HUNT][file.stem]
        where = f"{_shown(toml)}: {HUNT}.{file.stem}"
        _known_words(toml, f"{HUNT}.{file.stem}", entry, exhibits.WORDS | _RUNG_WORDS)
        exhibit = exhibits.parse(where, entry)
        plain = {word: entry[word] for word in entry if word in _RUNG_WORDS}
        rung = _rung(toml, task_id, file, {f"{HUNT}/{file.stem}": plain}, ())
        beside = [file.with_suffix(exhibits.CASE)]
        if language == EXTENSION and (rules := file.with_suffix(".py")).is_file():
            beside.append(rules)
        step = STEPS[-1] if language == EXTENSION else ""
        rung = replace(rung, exhibit=exhibit, also=tuple(beside), step=step)
        found.append(rung)
        points += exhibit.points
    if not found:
        return []
    return [Task(lab.name, HUNT, language, points, rungs=tuple(found))]


def _files(folder: Path, suffix: str) -> list[Path]:
    """The rungs of a folder in order, without files that can be none."""
    return [f for f in sorted(folder.glob(f"[0-9]*{suffix}")) if not _strange(f)]


def _strange(file: Path) -> str:
    """Why a numbered file is no rung; "" if it is one."""
    if file.is_symlink() or not file.is_file():
        return "a rung is a plain file, not a link"
    if not os.access(file, os.R_OK):
        return "it cannot be read: fix its permissions"
    if file.stat().st_size > LARGEST:
        return f"a rung has at most {LARGEST} bytes"
    if not RUNG_NAME.fullmatch(file.stem):
        return (
            "a rung is named by two digits and an idea in small letters, for example "
            "02_register_block"
        )
    return ""


def strange(tasks: Sequence[Task]) -> list[str]:
    """A line for each numbered file in the folders of these tasks that is no rung."""
    return [
        f"{task.id}: {one_line(file.name)} is not graded: {why}"
        for task in tasks
        for file in sorted((rungs.ROOT / "labs" / task.id).glob("[0-9]*"))
        if file.suffix == SUFFIX[task.language] and (why := _strange(file))
    ]


def _rung(
    toml: Path,
    task: str,
    file: Path,
    entries: Mapping[str, Any],
    dtypes: tuple[str, ...],
) -> Rung:
    name = f"{task.split('/')[1]}/{file.stem}"
    entry = entries.get(name, {})
    _known_words(toml, f"rung.{name!r}", entry, _RUNG_WORDS)
    for flag in entry.get("flags", ()):
        if flag not in EXTRA_FLAGS:
            raise GraderError(
                f"{_shown(toml)}: rung {name!r} has the compiler flag {flag!r}, but "
                f"only these are allowed: {' '.join(EXTRA_FLAGS)}"
            )
    where = f"{_shown(toml)}: rung {name!r}"
    used = parse_uses(where, toml.parent.name, name, entry)
    numerics, tags = _numerics(where, entry.get("numerics", DIRECT))
    moved = traffic.parse(where, entry.get("traffic", {}))
    fits = architectures.parse(where, file.suffix, entry)
    fits["covers"] = covers(where, entry)
    fits["numerics_for"] = tags
    fits["hints"] = _hints(where, entry)
    flags = tuple(entry.get("flags", ()))
    alone = all(use.within(task) for use in used)  # others are not built for them
    fits["dtypes"] = architectures.dtypes(where, file.suffix, entry) or (
        dtypes if alone else ()
    )
    return Rung(task, file, flags, used, numerics, moved, **fits)


def _numerics(where: str, value: Any) -> tuple[str, tuple[str, ...]]:
    """The class of a rung, and the tags of the cases it is for: () for every case."""
    listed = ", ".join(NUMERICS)
    if isinstance(value, str) and value in NUMERICS:
        return value, ()
    entries = list(value.items()) if isinstance(value, Mapping) else []
    kind, tags = entries[0] if len(entries) == 1 else ("", [])
    words = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    if kind not in NUMERICS or not (words and tags):
        raise GraderError(
            f"{where}: 'numerics' is {value!r}, expected one of {listed}. For some "
            "cases only, write one of these names and the tags of the cases: "
            'numerics.winograd = ["winograd_3x3"]'
        )
    return kind, tuple(tags)


def _points(toml: Path, operator: str, entry: Mapping[str, Any]) -> float:
    """What a ladder is worth."""
    if "points" not in entry:
        raise GraderError(f"{_shown(toml)}: 'ladder.{operator}' lacks the key 'points'")
    points = entry["points"]
    if not isinstance(points, (int, float)) or points < 0:
        raise GraderError(
            f"{_shown(toml)}: 'ladder.{operator}.points' is {points!r}, expected a "
            "number of at least 0"
        )
    return float(points)


def _hints(place: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The hints of a ladder or a rung, from the vaguest to the plainest."""
    hints = entry.get("hints", [])
    if not isinstance(hints, list) or not all(isinstance(h, str) for h in hints):
        raise GraderError(
            f"{place}: 'hints' is {hints!r}, expected a list of sentences"
        )
    return tuple(hints)


def _known_words(
    toml: Path, where: str, entry: Mapping[str, Any], words: set[str]
) -> None:
    for word in entry:
        if word not in words:
            raise GraderError(
                f"{_shown(toml)}: {where} has an unknown key {word!r}, expected some "
                f"of {', '.join(sorted(words))}"
            )


def _shown(path: Path) -> str:
    return str(path.relative_to(rungs.ROOT))


# ---- choosing ------------------------------------------------------------------------


def select(wanted: str | None, lab: str | None = None) -> Selection:
    """What `T=` and `LAB=` name: a path, an id, or a prefix of ids.

    A prefix of rungs selects those rungs of their task. Raises GraderError for a name
    nothing begins with, and lists near ones.
    """
    tasks = offered_tasks()
    if lab:
        tasks = tuple(task for task in tasks if task.lab.startswith(lab))
        if not tasks:
            labs = ", ".join(sorted({task.lab for task in offered_tasks()}))
            raise GraderError(f"no lab begins with {lab!r}; the labs are: {labs}")
    if not wanted:
        rungs = frozenset(rung.id for task in tasks for rung in task.rungs)
        return Selection(tasks, rungs, whole=not lab)
    name = id_of(wanted)
    chosen = []
    ids: set[str] = set()
    for task in tasks:
        mine = {rung.id for rung in task.rungs if rung.id.startswith(name)}
        if task.id == name or (task.id.startswith(name) and not name.count("/") > 1):
            mine = {rung.id for rung in task.rungs}
        if mine or task.id.startswith(name):
            chosen.append(task)
            ids |= mine
    exact = [task for task in chosen if task.id == name]
    if exact:
        chosen = exact
        ids = {rung.id for rung in exact[0].rungs}
    if not chosen:
        raise GraderError(_unknown(wanted, name, tasks))
    return Selection(tuple(chosen), frozenset(ids), whole=False)


def one_rung(wanted: str | None, example: str) -> tuple[Rung, Task]:
    """The rung that T= names, and its ladder; `example` is a command that names one.

    Raises GraderError if T= names none or several.
    """
    if not wanted:
        raise GraderError(f"name one rung: {example}")
    selection = select(wanted)
    found = [
        (rung, task)
        for task in selection.tasks
        for rung in task.rungs
        if rung.id in selection.rungs
    ]
    if len(found) != 1:
        listed = ", ".join(rung.id for rung, _ in found[:6]) or "none"
        raise GraderError(
            f"{wanted!r} matches {len(found)} rungs, name one of them: {listed}"
        )
    return found[0]


def id_of(wanted: str) -> str:
    """A path or an id, as an id."""
    name = wanted.strip()
    path = Path(name)
    if path.is_absolute():
        try:
            name = str(path.resolve().relative_to(rungs.ROOT))
        except ValueError as error:
            raise GraderError(
                f"{wanted} is not inside {rungs.ROOT}; name a file of labs/"
            ) from error
    name = name.removeprefix("./").removeprefix("labs/").rstrip("/")
    name = re.sub(rf"({re.escape(exhibits.CASE)}|\.(py|c|cu|cpp))$", "", name)
    name = re.sub(r"^(\w+)/csrc/(\w+)/(\w+)$", r"\1/\3/\2", name)
    name = re.sub(r"^(\w+)/convlab_ext/(\w+)$", r"\1/\2", name)
    return renamed.current(name)


def _unknown(wanted: str, name: str, tasks: tuple[Task, ...]) -> str:
    ids = [task.id for task in tasks]
    ids += [rung.id for task in tasks for rung in task.rungs]
    near = difflib.get_close_matches(name, ids, n=NEAR, cutoff=0.5)
    word = name.rsplit("/", 1)[-1]
    words = difflib.get_close_matches(word, {i.rsplit("/", 1)[-1] for i in ids})
    near += [i for i in ids if i.rsplit("/", 1)[-1] in words and i not in near]
    near += [i for i in ids if word in i and i not in near]
    near = near[:NEAR]
    listed = ", ".join(near or [task.id for task in tasks[:6]])
    return f"no task or rung is called {wanted!r}; near it: {listed}"
