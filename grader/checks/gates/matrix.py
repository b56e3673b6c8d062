# SPDX-License-Identifier: MIT
"""Shows lab 05 as a matrix: which gate each operator has passed.

One gate can be several checks with one name, of either direction. The first check that
did not pass decides the cell. If there is no GPU, the gate cuda is pending and decides
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.checks.check_result import CheckResult
from grader.toolchain import gpu_probe
from grader.verdicts import Verdict

CUDA = "cuda"
ORDER = (
    "build",
    "values",
    "module",
    "errors",
    "opcheck",
    "vmap",
    "autocast",
    "export",
    "onnx",
    "compile",
    "gradients",
    "gradcheck",
    "mask",
    "gradgradcheck",
    "forward_ad",
    "torch_func",
    CUDA,
)
_GATE = {"forward": "values", "gradient": "gradients", "audit": "gradients"}
WAITS = "values and gradients on CUDA need a machine with a GPU (PENDING_GPU)"


def of(checks: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Gate -> verdict, from the names and verdicts of a rung's checks."""
    found: dict[str, str] = {}
    for name, verdict in checks:
        gate = _GATE.get(name, name)
        if found.get(gate, Verdict.PASS) == Verdict.PASS:
            found[gate] = str(verdict)
    if "build" not in found and found:
        found["build"] = str(Verdict.PASS)
    if found and gpu_probe.absent():
        found[CUDA] = str(Verdict.PENDING_GPU)
    return {gate: found[gate] for gate in ORDER if gate in found}


def rows(columns: Sequence[Mapping[str, str]]) -> list[tuple[str, list[str]]]:
    """The matrix, a row for each gate that any of these operators has."""
    there = [gate for gate in ORDER if any(gate in column for column in columns)]
    return [(gate, [column.get(gate, "") for column in columns]) for gate in there]


def on_their_word(checks: Iterable[CheckResult]) -> str:
    """Which gates rest on the word of the package's own process; "" if none does."""
    found = {_GATE.get(c.name, c.name) for c in checks if c.self_reported}
    if not (named := [gate for gate in ORDER if gate in found]):
        return ""
    return (
        "these gates are self-reported by the package's own process: "
        f"{', '.join(named)}"
    )


def note() -> str:
    """Why the last row is pending; "" if it is not."""
    if not (reason := gpu_probe.absent()):
        return ""
    return WAITS + (f": {reason}" if reason != gpu_probe.NONE else "")
