# SPDX-License-Identifier: MIT
"""What `make bench` was asked for, and how a row of its answer is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.checks.speed.estimate import Speed
from grader.course.rungs import ROOT, Rung
from grader.engine import results
from grader.engine.answers import as_json
from grader.errors import GraderError
from grader.toolchain import given, isa
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


def folder() -> Path:
    """Where tables go: docs/results, in a handout build/bench."""
    return build_folder() / "bench" if given.is_handout() else ROOT / "docs" / "results"


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
        f"{card(peaks, wanted)} The interval is that of the ratio to PyTorch; an error "
        "is the largest against double precision, as a share of the largest value. "
        f"{command(wanted)}"
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
        f"{many}; one core's peak {peaks['fma_gflops']:.0f} GFLOP/s, scalar "
        f"{peaks['multiply_add_gflops']:.1f} GFLOP/s; triad {sizes}; "
        f"peak moved by {100 * peaks['moved']:.0f} % during the run."
        f"{isa_words()} The process keeps "
        "its memory (mallopt, speed/machine.py), so that PyTorch pays for no page "
        "twice."
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
