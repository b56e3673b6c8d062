# SPDX-License-Identifier: MIT
"""Grades every drawn mutation with the grader's own checks: who survives?

    python -m tests.proofs.mutations.run        (frame.py has the options)

A mutation is caught if forward or backward (through the module too) is wrong in the
grader's eyes; a verdict that is the grader's own fault catches nothing. Survivors are
looked at by equivalent.py and argued in equivalent.toml.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from signatures import DIRECTIONS

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.course.rungs import Rung, Selection
from grader.engine.checking.rung_checker import Checker
from grader.runner.supervisor.cores import pin
from grader.toolchain.make import build_tools
from grader.verdicts import Verdict
from tests import ROOT
from tests.proofs.mutations import frame
from tests.proofs.mutations.draw import Mutation, committed

PAGE = """# One token changed: what the grader lets pass

Written by `python -m tests.proofs.mutations.run --write`. `draw.py` drew
the list, which was committed before the first run; what
"equivalent" rests on is in `equivalent.py` and in `equivalent.toml`.

{summary}.
{kinds}"""


@dataclass(frozen=True)
class Outcome(frame.Outcome):
    """With a verdict for each direction."""

    forward: str
    backward: str

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Forward first."""
        return self.forward, self.backward


def grade(mutation: Mutation, seed: int) -> Outcome:
    """Build and check one mutation."""
    start = time.perf_counter()
    with frame.mutated(mutation) as copy:
        checks = list(_checks(mutation, copy, seed))
    failed = [check for check in checks if check.verdict is not Verdict.PASS]
    verdicts = {
        d: str(next((c.verdict for c in failed if c.direction == d), Verdict.PASS))
        for d in DIRECTIONS
    }
    message = failed[0].message if failed else ""
    seconds = round(time.perf_counter() - start, 1)
    return Outcome(mutation, seed, message, seconds, **verdicts)


def _checks(mutation: Mutation, copy: Path, seed: int) -> list[CheckResult]:
    torch.set_num_threads(1)
    pin()
    _, lab, name, _ = mutation.file.split("/")
    operator = operators.get(name)
    if copy.suffix == ".py":
        subject = Subject(operator, source=copy, shown=mutation.file)
    else:
        built = build(copy, mutation.file)
        if isinstance(built, str):
            return [CheckResult("build", "forward", Verdict.BUILD, message=built)]
        libraries = {dtype: (path, path) for dtype, path in built.items()}
        subject = Subject(operator, libraries=libraries)
    checker = Checker(Selection((), frozenset(), whole=False), seed=seed)
    try:  # verdicts only: values and gradients have to catch it, reasons do not
        return checker._checks(subject, Rung(f"{lab}/{name}", copy), lambda r, *_: r)
    finally:
        subject.close()


def build(copy: Path, file: str) -> dict[str, Path] | str:
    """A C rung as one library for each dtype, by the rules every rung is built with."""
    folder = Path(str(copy).removesuffix(file))
    rules = ROOT / "common" / "rung.mk"
    done = subprocess.run(
        ["make", "-s", "-j2", "-f", str(rules), f"RUNG={file}", "BUILD=build"],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if "error:" in line]
        return (errors or done.stdout.splitlines() or ["no output"])[0]
    stem = folder / "build" / "rungs" / "release" / file.removeprefix("labs/")
    return {dtype: stem.with_suffix(f".{dtype}.so") for dtype in ("f32", "f64")}


def ready(lock: Any) -> None:
    """Nothing is to be done in a process before its first mutation."""


PROOF = frame.Proof("", Outcome, committed, grade, build_tools, ready, PAGE, DIRECTIONS)

if __name__ == "__main__":
    sys.exit(PROOF.main(sys.argv[1:]))
