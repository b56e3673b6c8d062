# SPDX-License-Identifier: MIT
"""Makes the results of checks that were not run, with a sentence for the reason."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from signatures import DIRECTIONS

from grader.checks.check_result import CheckResult
from grader.course.rungs import Rung
from grader.errors import ProductError, of_machine
from grader.toolchain.products import Build
from grader.verdicts import Verdict

HOPELESS = (  # no result came back: asking again in another dtype teaches nothing
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.INCOMPLETE,
    Verdict.LIMIT,
    Verdict.MEMORY_ERROR,
    Verdict.NOT_IMPLEMENTED,
    Verdict.BUILD,
    Verdict.FORBIDDEN,
    Verdict.GRADER,
)

OURS = "the grader itself failed, please report it: "


def build_failed(built: Build) -> list[CheckResult]:
    """A file without a usable library fails both directions with one reason."""
    verdict = Verdict.BLOCKED if built.blocked else Verdict.BUILD
    verdict = Verdict.TIMEOUT if built.late else verdict
    verdict = Verdict.FORBIDDEN if built.forbidden else verdict
    return [
        CheckResult(
            "build",
            direction,
            verdict,
            message=built.forbidden or built.blocked or built.error,
            location=built.location,
        )
        for direction in DIRECTIONS
    ]


def of_ours(error: Exception) -> str:
    """The sentence for a mistake of the grader's own, with its place. An error of the
    machine is raised again: it ends the command.
    """
    if of_machine(error):
        raise error
    if isinstance(error, ProductError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = (str(error).splitlines() or ["no reason given"])[0]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"{OURS}{type(error).__name__}: {said}, at {where}"


def our_fault(message: str) -> list[CheckResult]:
    """The grader failed: both directions are pending."""
    return [
        CheckResult(name, direction, Verdict.GRADER, message=message)
        for name, direction in zip(("forward", "gradient"), DIRECTIONS)
    ]


def needs_gpu(rung: Rung, nvcc: Verdict) -> list[CheckResult]:
    """Of a rung that cusim cannot run, for the directions that it has; `nvcc` is the
    verdict of NVIDIA's compiler.
    """
    listed = ", ".join(rung.architectures)
    taken = f"NVIDIA's compiler accepts it ({listed})"
    if nvcc is not Verdict.PASS:
        taken = f"it is for {listed}, but this machine has no nvcc to compile it"
    message = f"needs a GPU, because cusim cannot run this file; {taken}"
    found = []
    has = [d for d in DIRECTIONS if f"{rung.operator}_{d}(" in _code(rung)]
    for name, direction in zip(("forward", "gradient"), DIRECTIONS):
        if direction not in (has or DIRECTIONS):
            continue
        no, words = Verdict.PENDING_GPU, message
        if is_starter(rung, direction):
            no, words = Verdict.NOT_IMPLEMENTED, "not written yet"
        found.append(CheckResult(name, direction, no, message=words))
    return found


def is_starter(rung: Rung, direction: str) -> bool:
    """Whether a function still says that it is not written: nothing runs it here."""
    _, _, rest = _code(rung).partition(f"_{direction}(")
    return "return STATUS_NOT_IMPLEMENTED;" in rest.partition("\n}")[0]


def _code(rung: Rung) -> str:
    """Its text without line comments; "" if it is gone."""
    try:
        text = rung.file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return re.sub(r"//[^\n]*", "", text)


def same_for_backward(forward: CheckResult) -> CheckResult:
    """In Python backward needs a forward that returns: its verdict is the same."""
    return CheckResult(
        "gradient",
        "backward",
        forward.verdict,
        message="backward was not run, because forward did not return "
        f"({forward.verdict})",
    )
