# SPDX-License-Identifier: MIT
"""What the HTML report says, in the order in which it says it.

results.json becomes frozen records here, so that the templates only lay out. Every
field that may be missing is None or empty; nothing is computed that the grader has
already decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS, SIGNATURES

from grader.checks.gates.matrix import rows
from grader.report.excerpt import Excerpt, excerpt
from grader.report.measured import Machine, Speed, machine, speed
from grader.report.registers import Compiled, compiled
from grader.verdicts import Verdict

LABS = {  # the course, whether or not a lab is there yet
    "01_python_function": "Python function",
    "02_naive_c": "naive C",
    "03_im2col_cpu": "im2col on the CPU",
    "04_cuda_kernels": "CUDA kernels",
    "05_torch_extension": "torch extension",
}


ONE_OF_TWO = (  # checks of either direction
    *("audit", "no_memory", "memory", "build"),
    *("order", "races", "traffic", "nvcc", "half"),
    *("opcheck", "compile"),
)


@dataclass(frozen=True)
class Outcome:
    """A verdict, and the kind that chooses its colour and its symbol."""

    word: str
    kind: str  # pass, fail, todo, pending or none


NOTHING = Outcome("-", "none")


def outcome(word: str) -> Outcome:
    """The kind of a verdict's word; a word that is not known counts as failed."""
    if word == Verdict.PASS:
        return Outcome(word, "pass")
    if word == Verdict.NOT_IMPLEMENTED:
        return Outcome(word, "todo")
    known = word in Verdict.__members__ and Verdict(word).pending
    return Outcome(word, "pending" if known else "fail")


@dataclass(frozen=True)
class Check:
    """One check of one file."""

    name: str
    direction: str
    dtype: str
    outcome: Outcome
    cases: int
    failed: int
    self_reported: bool
    message: str
    diagnosis: str
    mistake: str
    location: str
    replay: str
    excerpt: Excerpt | None


@dataclass(frozen=True)
class Rung:
    """One file of a ladder."""

    name: str  # 00_definition
    file: str
    directions: tuple[tuple[str, Outcome], ...]
    lent: tuple[tuple[str, str], ...]  # direction or alias, the file that lent it
    bad: tuple[Check, ...]
    passed: str  # the checks that passed, in a line
    needs: str  # "gpu" if it was only compiled
    nvcc: Compiled | None
    speed: tuple[Speed, ...]
    gates: dict[str, str]  # lab 05: gate -> verdict

    @property
    def short(self) -> str:
        """The file's name without its folder."""
        return self.file.rpartition("/")[2]


@dataclass(frozen=True)
class Task:
    """A ladder: its points and its files."""

    id: str
    lab: str
    operator: str
    anchor: str
    points: float
    pending: float
    of: float
    core: bool
    seed: int | None
    outcome: Outcome  # the first direction that is not right, or PASS
    rungs: tuple[Rung, ...]

    @property
    def key(self) -> str:
        """A short word for the ids of its charts."""
        return anchor(self.lab[:2] + self.operator)

    @property
    def bad(self) -> int:
        """Files that have something to mend or to wait for."""
        return sum(bool(rung.bad) for rung in self.rungs)

    @property
    def timed(self) -> tuple[tuple[Rung, Speed], ...]:
        """Every measurement with its file."""
        return tuple((rung, entry) for rung in self.rungs for entry in rung.speed)


@dataclass(frozen=True)
class Lab:
    """A lab's share of the points."""

    id: str
    title: str
    tasks: tuple[Task, ...]

    def total(self, what: str, *, core: bool) -> float:
        """Points, pending or of, on the core path or beyond it."""
        return float(sum(getattr(t, what) for t in self.tasks if t.core is core))


@dataclass(frozen=True)
class Page:
    """The whole report."""

    points: float
    pending: float
    of: float
    extra: float
    extra_of: float
    seed: int | None
    date: str
    labs: tuple[Lab, ...]
    operators: tuple[str, ...]
    environment: dict[str, str]
    machine: Machine | None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All of them, in the order of the course."""
        return tuple(task for lab in self.labs for task in lab.tasks)

    @property
    def gated(self) -> list[tuple[Task, Rung]]:
        """What has gates: the operators of lab 05."""
        return [(t, rung) for t in self.tasks for rung in t.rungs if rung.gates]

    @property
    def gates(self) -> list[tuple[str, list[Outcome]]]:
        """Gate by operator, in the order of `gated`."""
        columns = [rung.gates for _, rung in self.gated]
        return [
            (gate, [outcome(cell) if cell else NOTHING for cell in cells])
            for gate, cells in rows(columns)
        ]

    @property
    def timed(self) -> bool:
        """Whether anything was measured."""
        return any(task.timed for task in self.tasks)

    def task(self, lab: str, operator: str) -> Task | None:
        """A cell of the matrix."""
        return next((t for t in self.tasks if t.id == f"{lab}/{operator}"), None)


def anchor(*parts: str) -> str:
    """A fragment that needs no escaping, whatever the parts hold."""
    return "-".join(
        re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts
    )


def page(results: dict[str, Any], root: Path) -> Page:
    """results.json as the report tells it; `root` is where the sources are."""
    tasks = [_task(entry, root) for entry in results["tasks"]]
    found = [task.lab for task in tasks]
    labs = sorted({*LABS, *found})
    operators = [*SIGNATURES, *sorted({t.operator for t in tasks} - set(SIGNATURES))]
    environment = results.get("environment", {})
    return Page(
        points=results["points"],
        pending=sum(task.pending for task in tasks),
        of=results["of"],
        extra=results.get("extra", 0.0),
        extra_of=sum(task.of for task in tasks if not task.core),
        seed=results.get("seed"),
        date=_date(results.get("date")),
        labs=tuple(
            Lab(lab, LABS.get(lab, ""), tuple(t for t in tasks if t.lab == lab))
            for lab in labs
        ),
        operators=tuple(operators),
        environment={
            key: str(value)
            for key, value in environment.items()
            if key != "machine" and value not in (None, "")
        },
        machine=machine(environment.get("machine")),
    )


def _date(text: object) -> str:
    """An ISO date as people write it; nothing if there is none."""
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return ""
    return f"{when.day} {when:%B %Y, %H:%M}"


def _task(entry: dict[str, Any], root: Path) -> Task:
    name = str(entry["id"])
    lab, _, operator = name.partition("/")
    rungs = tuple(_rung(rung, root) for rung in entry["rungs"])
    return Task(
        id=name,
        lab=lab,
        operator=operator,
        anchor=anchor(name),
        points=entry["points"],
        pending=entry["pending"],
        of=entry["of"],
        core=bool(entry.get("core", True)),
        seed=entry.get("seed"),
        outcome=_worst(_best(rungs, direction) for direction in DIRECTIONS),
        rungs=rungs,
    )


def _best(rungs: tuple[Rung, ...], direction: str) -> Outcome | None:
    """As points are given: any file that passes, else a pending one; then an error,
    before what is not written.
    """
    here = [rung for rung in rungs if not rung.needs] or rungs
    found = [o for rung in here for d, o in rung.directions if d == direction]
    for kind in ("pass", "pending", "fail"):
        for one in found:
            if one.kind == kind:
                return one
    return found[-1] if found else None


def _worst(outcomes: Iterable[Outcome | None]) -> Outcome:
    """An error speaks for all, else the first that is not right."""
    known = [one for one in outcomes if one]
    wrong = [one for one in known if one.kind != "pass"]
    failed = [one for one in wrong if one.kind == "fail"]
    return next(iter([*failed, *wrong, *known]), NOTHING)


def _rung(entry: dict[str, Any], root: Path) -> Rung:
    checks = [_check(check, entry, root) for check in entry["checks"]]
    directions = []
    for direction in DIRECTIONS:
        mine = [c.outcome for c in checks if c.direction == direction]
        if mine:
            directions.append((direction, _worst(mine)))
    name = str(entry["id"])
    return Rung(
        name=name.rpartition("/")[2],
        file=str(entry["file"]),
        directions=tuple(directions),
        lent=tuple((str(k), str(v)) for k, v in entry["uses"].items()),
        bad=tuple(c for c in checks if c.outcome.kind != "pass"),
        passed=_passed([c for c in checks if c.outcome.kind == "pass"]),
        needs=str(entry.get("needs", "")),
        nvcc=compiled(entry.get("nvcc")),
        speed=tuple(speed(one) for one in entry["speed"]),
        gates={str(k): str(v) for k, v in entry.get("gates", {}).items()},
    )


def _passed(checks: list[Check]) -> str:
    """forward f32 f64, no_memory f64 (backward): in the order in which they ran."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check.name, []).append(check)
    parts = []
    for name, group in found.items():
        words = [name, *dict.fromkeys(check.dtype for check in group if check.dtype)]
        directions = {check.direction for check in group if check.direction}
        if name in ONE_OF_TWO and len(directions) == 1:
            words.append(f"({directions.pop()})")
        parts.append(" ".join(words))
    cases = sum(check.cases for check in checks)
    return f"{', '.join(parts)}: {cases} cases" if parts else ""


def _check(check: dict[str, Any], rung: dict[str, Any], root: Path) -> Check:
    location = str(check["location"] or "")
    lines = None
    if location:
        file, sha256 = str(rung["file"]), str(rung["sha256"])
        lines = excerpt(location, file=file, sha256=sha256, root=root)
    return Check(
        name=str(check["name"]),
        direction=str(check.get("direction", "")),
        dtype=str(check["dtype"]),
        outcome=outcome(str(check["verdict"])),
        cases=int(check["cases"]),
        failed=int(check["failed"]),
        self_reported=bool(check["self_reported"]),
        message=str(check["message"]),
        diagnosis=str(check["diagnosis"] or ""),
        mistake=str(check.get("mistake") or ""),
        location=location,
        replay=str(check["replay"] or ""),
        excerpt=lines,
    )
