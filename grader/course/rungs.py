# SPDX-License-Identifier: MIT
"""Defines the records rung, task and selection, which the whole grader uses.

A task is a ladder: the folder of one operator in one lab. Its rungs are the numbered
files in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from signatures import DIRECTIONS
from signatures.view_names import TENSOR_VIEW, VIEWS

from grader.course import bands, traffic
from grader.course.architectures import ARCHITECTURES
from grader.course.exhibits import CASE, HUNT, Exhibit
from grader.course.foreign import named_file
from grader.course.uses import Use

ROOT = Path(__file__).resolve().parents[2]
DIRECT, WINOGRAD, TF32, HALF = "direct", "winograd", "tf32", "half"
NUMERICS = (DIRECT, WINOGRAD, TF32, HALF)  # classes: checks/values/precision.py
EXTENSION = "extension"  # lab 05: a package, built by its setup.py
SUFFIX = {"python": ".py", "c": ".c", "cuda": ".cu", EXTENSION: ".cpp"}
STEPS = ("stable",)  # of lab 05, those that are graded: folders of its csrc
COMPILED = ("c", "cuda", "view")  # kinds of rungs that become shared objects


@dataclass(frozen=True)
class Rung:
    """One file of a ladder."""

    task: str  # 02_naive_c/conv2d
    file: Path  # absolute
    flags: tuple[str, ...] = ()  # extra compile flags, from lab.toml
    uses: tuple[Use, ...] = ()  # other rungs it calls, from lab.toml
    numerics: str = DIRECT  # how exact it has to be: checks/values/precision.py
    traffic: tuple[traffic.Limits, ...] = ()  # lab 04: what it may move, if limited
    architectures: tuple[str, ...] = ARCHITECTURES  # lab 04: for nvcc
    needs: str = ""  # lab 04: "gpu" if cusim cannot run it
    dtypes: tuple[str, ...] = ()  # lab 04: it is right in these, too
    hints: tuple[str, ...] = ()  # besides those of its ladder
    step: str = ""  # lab 05: stable
    also: tuple[Path, ...] = ()  # lab 05: the operator's Python, and what it shares;
    # of an exhibit its case
    numerics_for: tuple[str, ...] = ()  # tags of the cases of its class; (): all cases
    # result -> tags of the cases that it has to cover: uses.covers
    covers: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    exhibit: Exhibit | None = field(default=None, compare=False)  # of a bug hunt

    @property
    def id(self) -> str:
        """02_naive_c/conv2d/00_definition, 05_torch_extension/conv2d/stable."""
        return f"{self.task}/{self.step if self.in_package else self.file.stem}"

    @property
    def operator(self) -> str:
        """What it is an operator of: its folder's name, but of an exhibit."""
        return self.exhibit.operator if self.exhibit else self.task.split("/")[1]

    @property
    def in_package(self) -> bool:
        """Whether it is a step of lab 05's own package."""
        return bool(self.step) and not self.exhibit

    @property
    def case_file(self) -> Path:
        """Where an exhibit's case stands."""
        return self.file.with_suffix(CASE)

    @property
    def is_view(self) -> bool:
        """Whether it defines functions of common/tensor_view.h, and no operator."""
        return self.task.endswith(f"/{TENSOR_VIEW}")

    @property
    def shown(self) -> str:
        """Its path as people see it, from the repository's root."""
        return str(self.file.relative_to(ROOT))

    @property
    def headers(self) -> tuple[Path, ...]:
        """What its ladder gives to several of its files, beside them."""
        folder = self.file.parent
        own = folder.name == self.task.split("/")[-1]
        return tuple(sorted(folder.glob("*.h"))) if own else ()

    @property
    def sha256(self) -> str:
        """Of its contents, so that a result says what it is about. Of nothing once they
        are gone.
        """
        files = [file for file in (self.file, *self.also) if file.exists()]
        return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()

    def holds(self, location: str) -> bool:
        """Whether file:line is a place in its own files; of lab 05 in its package."""
        own = (ROOT / self.file).resolve()
        named = named_file(location, ROOT)
        package = own.parents[1] if self.in_package else own
        if self.exhibit and named in [file.resolve() for file in self.also]:
            return True
        return named is not None and named.is_relative_to(package)


@dataclass(frozen=True)
class Task:
    """A ladder: what one operator is worth in one lab; or a lab's bug hunt."""

    lab: str  # 02_naive_c
    operator: str  # its folder's name: of a bug hunt HUNT
    language: str
    points: float
    core: bool = False
    hints: tuple[str, ...] = ()
    rungs: tuple[Rung, ...] = field(default=())
    speed: bands.SpeedTask | None = None
    bench: tuple[str, ...] = ()  # speed cases of `make bench`; (): the small ones
    offered: bool = True  # whether the course of this tree has it

    @property
    def id(self) -> str:
        """02_naive_c/conv2d."""
        return f"{self.lab}/{self.operator}"

    @property
    def functions(self) -> tuple[str, ...]:
        """Of a ladder of views its functions, each with the same share of the points;
        none of an operator's.
        """
        return VIEWS if self.operator == TENSOR_VIEW else ()

    @property
    def directions(self) -> tuple[str, ...]:
        """What is asked of it. A view has no backward, all of it counts as forward."""
        return DIRECTIONS[:1] if self.functions else DIRECTIONS

    @property
    def is_hunt(self) -> bool:
        """Whether its files are exhibits: each counts for itself."""
        return self.operator == HUNT

    def worth(self, rung: Rung) -> float:
        """The points of an exhibit: its share of the task's, which a course may set."""
        whole = sum(one.exhibit.points for one in self.rungs if one.exhibit)
        return self.points * rung.exhibit.points / whole if rung.exhibit else 0.0


@dataclass(frozen=True)
class Selection:
    """What a person asked for: tasks, and which of their rungs (all, mostly)."""

    tasks: tuple[Task, ...]
    rungs: frozenset[str]  # ids
    whole: bool  # everything there is
