# SPDX-License-Identifier: MIT
"""Every CUDA rung's traffic as cusim counts it, beside what Nsight Compute counts.

    python -m tests.proofs.stress ncu

The numbers of cusim are those of docs/results/counts_04.json (`make bench LAB=04`). The
card runs the same case of the same rung by `worker-cuda-gpu --replay` under ncu. The
table goes to ncu_rungs.md in docs/results.

A worker's own kernels are part of neither count: a replay starts the rung's alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import operators
from grader.bench import counting
from grader.checks.cuda.under_cusim import DTYPE
from grader.checks.subject import Subject
from grader.checks.values.prepared import prepare
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.engine.checking.compiling import Builds
from grader.runner.supervisor.call import Placement
from grader.runner.supervisor.session import tools
from grader.toolchain import gpu_probe
from grader.toolchain.linking import OWN_FILES
from grader.toolchain.make import build_folder
from grader.toolchain.products import GPU
from tests import ALL_RIGHT
from tests.common.cusim import against_ncu
from tests.proofs import pages

COUNTS = pages.RESULTS / counting.FILE
TITLE = "# Every rung's traffic, as cusim and as a card counts it"
EXPLAINED = """One row for each direction of a rung, on the case that its traffic limits
are counted on. `requests` and `sectors` are global memory's, cusim's number divided by
the card's: 1.000 is equal. `wavefronts` are those of shared memory for each request. A
request of `cp.async` goes to global and to shared memory at once: ncu counts it apart
(LDGSTS)."""
SECONDS = 200  # of one rung
NEAR = 0.02  # cusim and card may differ by so much before a row is marked
_L1 = "l1tex__t_"
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
METRICS: dict[str, tuple[str, ...]] = {
    "requests": (
        f"{_L1}requests_pipe_lsu_mem_global_op_ld.sum",
        f"{_L1}requests_pipe_lsu_mem_global_op_st.sum",
    ),
    "sectors": (
        f"{_L1}sectors_pipe_lsu_mem_global_op_ld.sum",
        f"{_L1}sectors_pipe_lsu_mem_global_op_st.sum",
    ),
    "wavefronts": (f"{_SHARED}ld.sum", f"{_SHARED}st.sum"),
    "shared_requests": (
        "smsp__inst_executed_op_shared_ld.sum",
        "smsp__inst_executed_op_shared_st.sum",
        "smsp__inst_executed_op_ldsm.sum",
    ),
    "copies": ("smsp__inst_executed_op_ldgsts.sum",),
}


@dataclass(frozen=True)
class Compared:
    """One direction of a rung, by both."""

    row: Mapping[str, Any]  # of counts_04.json
    card: Mapping[str, float]  # by the names of METRICS; empty: ncu gave no numbers
    said: str = ""  # the end of what ncu said, then

    def part(self, word: str) -> float:
        """cusim's number as a part of the card's; 0 where the card has none."""
        ours = {"requests": self.row["requests"], "sectors": self.row["bytes"] / 32}
        theirs = self.card.get(word, 0.0)
        return float(ours[word]) / theirs if theirs else 0.0

    @property
    def wavefronts(self) -> float:
        """The card's, for each request of shared memory."""
        asked = self.card.get("shared_requests", 0.0)
        return self.card.get("wavefronts", 0.0) / asked if asked else 0.0

    @property
    def cells(self) -> list[str]:
        """Its row of the table."""
        parts = [self.part(word) for word in ("requests", "sectors")]
        differs = any(abs(part - 1) > NEAR for part in parts)
        return [
            f"`{self.row['rung'].partition('/')[2]}`",
            self.row["direction"],
            self.row["case"],
            str(self.row["requests"]),
            *(f"{part:.3f}" if part else "-" for part in parts),
            f"{self.row['wavefronts']:.2f}",
            f"{self.wavefronts:.2f}",
            f"{self.card.get('copies', 0):.0f}",
            "differs" if differs else "",
        ]


def rows(only: str = "") -> Iterator[Compared]:
    """Each row of counts_04.json, compared on this machine's card."""
    recorded = json.loads(COUNTS.read_text())["rows"]
    rungs = {rung.id: rung for task in all_tasks() for rung in task.rungs}
    links = Builds(judge=ALL_RIGHT).links
    gpu_probe.build_tools()
    for row in recorded:
        rung = rungs.get(row["rung"])
        if rung is None or not row["rung"].startswith(only):
            continue
        built = links.build(rung, mode=GPU)
        if row["direction"] in built.directions and built.libraries:
            saves = links.nearest(rung, built, "forward", GPU, OWN_FILES)
            pair = saves.libraries[DTYPE].resolve(), built.libraries[DTYPE].resolve()
            said = replayed(rung, pair, row["direction"])
            card = summed(said)
            yield Compared(row, card, "" if card else said.strip()[-300:])


def replayed(rung: Rung, pair: tuple[Path, Path], direction: str) -> str:
    """What ncu prints of one call of a rung; `pair` has its forward and backward."""
    operator = operators.get(rung.operator)
    subject = Subject(operator, libraries={DTYPE: pair})
    case = counting.case_of(rung, operator, direction, 1)
    made = prepare(subject, case, 0, direction, DTYPE, 1)
    made.call.request.placement = Placement.ALIGN
    folder = build_folder() / "ncu"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as kept:
        try:
            memory = subject.worker(DTYPE).save(made.call, Path(kept))
        finally:
            subject.close()
        replay = [tools() / gpu_probe.PROGRAM, "--replay", *pair, *memory]
        metrics = [name for names in METRICS.values() for name in names]
        words = against_ncu.command(*map(str, replay), metrics=metrics)
        environment = {**os.environ, **gpu_probe.environment()}
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=SECONDS, env=environment
        )
    return done.stdout + done.stderr


def summed(text: str) -> dict[str, float]:
    """The numbers of all kernels of a replay, by the names of METRICS; none: {}."""
    found: dict[str, float] = {}
    for _, metric, value in against_ncu.printed(text):
        found[metric] = found.get(metric, 0.0) + value
    return {
        word: sum(found.get(metric, 0.0) for metric in names)
        for word, names in METRICS.items()
        if found
    }


def main(machine: str, only: str = "") -> int:
    """Compare every rung, and write the table."""
    if reason := against_ncu.why_not():
        print(f"{against_ncu.PENDING} ({reason})")
        return 0
    compared = []
    for one in rows(only):
        compared.append(one)
        print(" ".join(one.cells), one.said, flush=True)
    card = gpu_probe.card()
    assert card
    made = f"Made by `python -m tests.proofs.stress ncu` on {card.words}, {machine}."
    head = ["rung", "direction", "case", "requests", "of the card's", "sectors"]
    head += ["wavefronts, cusim", "card", "cp.async", ""]
    table = pages.table(head, [one.cells for one in compared], words=3)
    pages.write("ncu_rungs.md", TITLE, EXPLAINED, made, "\n".join(table))
    return int(not all(one.card for one in compared))
