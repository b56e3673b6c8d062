# SPDX-License-Identifier: MIT
"""Runs a built program and reads its report.

AddressSanitizer's findings come through the runtime (src/faults.cpp). UBSan's are read
from the program's output, because only this works with both compilers.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cusim import report
from cusim.report import Finding, Place, Report

DEADLINE = 300.0  # seconds; the runtime itself stops a thread that spins for 10
ORDERS = ("forward", "reverse", "random")

_UNDEFINED = re.compile(r"^(\S+?):(\d+):\d+: runtime error: (.*)$", re.M)
_ARRAY = re.compile(r"index (-?\d+) out of bounds for type '(.*)'")


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    status: int  # as a shell says it: 128 and the signal's number if one ended it
    output: str  # both streams, in the order of their lines
    report: Report


def order_word(order: str, seed: int) -> str:
    """The value of CUSIM_ORDER. Raises ValueError for an order that does not exist."""
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}, expected one of {', '.join(ORDERS)}")
    return f"random:{seed}" if order == "random" else order


def run(
    program: Path,
    arguments: tuple[str, ...] = (),
    *,
    order: str = "forward",
    seed: int = 0,
    patience: int | None = None,
    deadline: float = DEADLINE,
) -> Ran:
    """Run it to its end. `patience`: seconds until a thread counts as spinning.

    Raises subprocess.TimeoutExpired after `deadline` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="cusim-") as folder:
        path = Path(folder) / "report.jsonl"
        words = {"CUSIM_REPORT": str(path), "CUSIM_ORDER": order_word(order, seed)}
        if patience is not None:
            words["CUSIM_PATIENCE"] = str(patience)
        done = subprocess.run(
            [str(program), *arguments],
            env={**os.environ, **words},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=deadline,
            check=False,
        )
        output = done.stdout.decode(errors="replace")
        found = report.read(path)
    found.findings.extend(undefined_behaviour(output))
    code = done.returncode
    return Ran(code if code >= 0 else 128 - code, output, found)


def undefined_behaviour(output: str) -> list[Finding]:
    """What UBSan printed, as findings."""
    findings = []
    for match in _UNDEFINED.finditer(output):
        kind, sentence = _named(match[3])
        place = Place("runs", match[1], int(match[2]))
        findings.append(Finding("error", kind, sentence, (place,)))
    return findings


def _named(text: str) -> tuple[str, str]:
    array = _ARRAY.search(text)
    if array:
        sentence = f"index {array[1]} is outside of an array of type '{array[2]}'"
        return "out_of_bounds", sentence
    if "misaligned address" in text:
        return "misaligned", text
    return "undefined_behaviour", text
