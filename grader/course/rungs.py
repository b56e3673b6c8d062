# SPDX-License-Identifier: MIT
"""What a rung, a task and a selection are: the records that everything else is about.

A task is a ladder, one operator's folder in one lab; its rungs are the numbered files
in it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from signatures import DIRECTIONS
from signatures.view_names import TENSOR_VIEW, VIEWS

from grader.course import bands, traffic
from grader.course.architectures import ARCHITECTURES
from grader.course.foreign import named_file
from grader.course.uses import Use

ROOT = Path(__file__).resolve().parents[2]
DIRECT, WINOGRAD, TF32 = "direct", "winograd", "tf32"
NUMERICS = (DIRECT, WINOGRAD, TF32)  # classes: checks/values/precision.py
SUFFIX = {"python": ".py", "c": ".c", "cuda": ".cu"}
EXTENSION = "extension"  # lab 05: a package, built by its setup.py
STEPS = ("stable",)  # of lab 05, those that are graded: folders of its csrc
COMPILED = ("c", "cuda", "view")  # kinds of rungs that become shared objects


@dataclass(frozen=True)
class Rung:
    """One file of a ladder."""

    task: str  # 02_naive_c/conv2d
    file: Path  # absolute
    flags: tuple[str, ...] = ()  # extra compile flags, from lab.toml
    uses: tuple[Use, ...] = ()  # other rungs it calls, from lab.toml
    numerics: str = (
        DIRECT  # how exact its results have to be: checks/values/precision.py
    )
    traffic: tuple[traffic.Limits, ...] = ()  # lab 04: what it may move, if limited
    architectures: tuple[str, ...] = ARCHITECTURES  # lab 04: for nvcc
    needs: str = ""  # lab 04: "gpu" if cusim cannot run it
    dtypes: tuple[str, ...] = ()  # lab 04: it is right in these, too
    hints: tuple[str, ...] = ()  # besides those of its ladder
    step: str = ""  # lab 05: stable
    also: tuple[Path, ...] = ()  # lab 05: the operator's Python, and what it shares

    @property
    def id(self) -> str:
        """02_naive_c/conv2d/00_definition, 05_torch_extension/conv2d/stable."""
        return f"{self.task}/{self.step or self.file.stem}"

    @property
    def is_view(self) -> bool:
        """Whether it defines functions of common/tensor_view.h, and no operator."""
        return self.task.endswith(f"/{TENSOR_VIEW}")

    @property
    def shown(self) -> str:
        """Its path as people see it, from the repository's root."""
        return str(self.file.relative_to(ROOT))

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
        package = own.parents[1] if self.step else own
        return named is not None and named.is_relative_to(package)


@dataclass(frozen=True)
class Task:
    """A ladder: what one operator is worth in one lab."""

    lab: str  # 02_naive_c
    operator: str
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


@dataclass(frozen=True)
class Selection:
    """What a person asked for: tasks, and which of their rungs (all, mostly)."""

    tasks: tuple[Task, ...]
    rungs: frozenset[str]  # ids
    whole: bool  # everything there is
