# SPDX-License-Identifier: MIT
"""Reads which rungs and cases `make bench` should time, and keeps rows of results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from grader.checks.speed.estimate import Speed
from grader.course.rungs import ROOT, Rung
from grader.engine import results
from grader.engine.answers import as_json
from grader.errors import GraderError
from grader.toolchain import given, isa, nvcc
from grader.toolchain.gpu_probe import Gpu
from grader.toolchain.make import build_folder


@dataclass(frozen=True)
class Row:
    """One measurement: a rung, a part of its work, a case."""

    rung: Rung
    part: str  # forward, backward, grad_input ..., forward+backward
    by: tuple[str, ...]  # ids of the files that computed it
    speed: Speed


@dataclass(frozen=True)
class Wanted:
    """What a run of `make bench` is asked for."""

    label: str  # names the files
    words: str  # of the command that repeats it
    seed: int
    threads: int = 1
    parts: tuple[str, ...] = ()  # (): what a rung computes itself
    against: tuple[str, ...] = ()  # more variants of PyTorch
    cases: tuple[str, ...] = ()  # (): those of the ladder
    counts: bool = True  # lab 04: what cusim counts, too
    budget: float = 0.0  # lab 04: seconds of measuring for a row; 0: as in a grading


def folder() -> Path:
    """Where tables go: docs/results, in a handout build/bench."""
    at_home = not given.is_handout()
    return ROOT / "docs" / "results" if at_home else build_folder() / "bench"


def write_files(files: Mapping[str, str]) -> list[str]:
    """Write texts, by file name, into `folder`. Returns the paths to show.

    Raises GraderError if a file cannot be written.
    """
    results.make_folder(folder())
    for name, text in files.items():
        try:
            (folder() / name).write_text(text)
        except OSError as error:
            raise GraderError(results.explain(error, folder())) from error
    return [results.near(folder() / name) for name in files]


def machine_words(peaks: dict[str, Any], wanted: Wanted) -> str:
    """The machine card, and what a table's columns mean."""
    return (
        f"{card(peaks, wanted)} The interval is the interval of the ratio to PyTorch. "
        "An error is the largest against double precision, as a share of the largest "
        f"value. {command(wanted)}"
    )


def card(peaks: dict[str, Any], wanted: Wanted) -> str:
    """The machine in a few lines."""
    environment = results.environment()
    sizes = ", ".join(
        f"{b['gbs']:.0f} GB/s in {_size(b['bytes'])}" for b in peaks["bandwidth"]
    )
    many = f"{wanted.threads} thread{'s' * (wanted.threads > 1)}"
    processor = f"{environment['cpu']} ({environment['isa']})"
    return (
        f"{processor}, {environment['compiler']}, torch {environment['torch']}, "
        f"{many}. One core's peak {peaks['fma_gflops']:.0f} GFLOP/s, scalar "
        f"{peaks['multiply_add_gflops']:.1f} GFLOP/s; triad {sizes}. "
        f"Peak moved by {100 * peaks['moved']:.0f} % during the run."
        f"{isa_words()} The process keeps "
        "its memory (mallopt, speed/machine.py): PyTorch pays for no page twice."
    )


def isa_words() -> str:
    """What ISA= could not hold, and what this machine cannot measure; else ""."""
    loose = isa.not_held(torch.backends.cpu.get_cpu_capability())
    wider = [f" {part} may use wider vectors than ISA={isa.held()}." for part in loose]
    missing = [
        f" ISA={one}: pending, this processor lacks it." for one in isa.lacking()
    ]
    return "".join(wider + missing)


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def command(wanted: Wanted) -> str:
    """What repeats a run."""
    return " ".join(["make bench", *wanted.words.split(), f"SEED={wanted.seed}"])


def recorded(row: Row, threads: int) -> dict[str, Any]:
    """A measurement for JSON."""
    return {
        "task": row.rung.task,
        "rung": row.rung.id,
        "sha256": row.rung.sha256,
        "part": row.part,
        "by": list(row.by),
        "threads": threads,
        "others": {name: r.value for name, r in row.speed.others.items()},
        "of_tolerance": row.speed.worst,
        "error": row.speed.errors[0],
        "pytorch_error": row.speed.errors[1],
        **as_json.speed_entry(row.speed),
    }


# ---- lab 04: a file that grows -------------------------------------------------------


class Growing:
    """The times of a run on a card: a row is on disk as soon as it is measured. Where a
    run was stopped the next one keeps the rows of files that are still the same.
    """

    def __init__(self, card: Gpu, wanted: Wanted) -> None:
        results.make_folder(folder())
        name = re.sub(r"[^a-z0-9_]+", "_", wanted.label)
        self.path = folder() / f"bench_{name}.json"
        self.command = command(wanted)
        gpu = {"gpu": asdict(card), "nvcc": nvcc.release()}
        self.environment = {**results.environment(), **gpu}
        self.rows = self._unfinished()
        self.before = len(self.rows)

    def has(self, rung: Rung, direction: str, case: str) -> bool:
        """Whether a row is there from a run that was stopped."""
        wanted = rung.id, rung.sha256, direction, case
        return any(_key(row) == wanted for row in self.rows)

    def add(self, row: Row) -> None:
        """Keep one more row, at once."""
        self.rows.append(recorded(row, 1))
        self.write(unfinished=True)

    def write(self, *, unfinished: bool = False) -> None:
        """Replace the file in one step."""
        whole = {
            "command": self.command,
            "environment": self.environment,
            **({"unfinished": True} if unfinished else {}),
            "rows": self.rows,
        }
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(whole, indent=1) + "\n")
        new.replace(self.path)

    def _unfinished(self) -> list[dict[str, Any]]:
        """The rows of a run on the same kind of card that was stopped."""
        try:
            old = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return []
        same = old.get("unfinished") and _kind(old["environment"]) == _kind(
            self.environment
        )
        return list(old["rows"]) if same else []


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["rung"], row["sha256"], row["part"], row["case"]


def _kind(environment: dict[str, Any]) -> dict[str, Any]:
    """Without what was measured."""
    return {**environment, "gpu": environment["gpu"]["name"]}
