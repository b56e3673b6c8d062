# SPDX-License-Identifier: MIT
"""The long proof of cusim: every program, both compilers, a hundred orders, the cost.

    python -m tests.proofs.stress cusim

writes docs/results/cusim.md. What is drawn from it for `make test` is test_cusim.py.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cusim.build import build
from cusim.run import run

from tests.common.cusim.test_cusim import COMPILERS, HERE, RIGHT, SEEN, said
from tests.proofs import pages

COSTS = {  # ms on an idle core of a current server, at most
    "matmul_register": 20.0,
    "matmul_tiled": 80.0,
    "layer_norm": 15.0,
    "empty": 1.0,  # for a thousand: a microsecond each
}
BUILDS = {"run": 1.0, "check": 3.0, "trace": 3.0}  # seconds


def bugs(compiler: str) -> list[str]:
    """Which bugs are not named with this compiler."""
    missed = []
    for bug in SEEN:
        if compiler != bug.get("only", compiler):
            continue
        done = build(HERE / "bugs" / bug["file"], mode=bug["mode"], compiler=compiler)
        if not done.ok:
            missed.append(f"{bug['file']}: {done.messages[:200]}")
            continue
        found = run(done.path, patience=2).report
        named = [f for f in found.findings if f.kind == bug["kind"]]
        if not any(set(f.lines) & set(bug["lines"]) for f in named):
            missed.append(f"{bug['file']}: {'; '.join(said(found)) or 'silence'}")
    return missed


def alarms(compiler: str, orders: int) -> list[str]:
    """False alarms and wrong results of right programs, two or more at a time."""
    jobs = [(s, mode) for s in RIGHT for mode in ("run", "check", "trace")]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(
            lambda job: list(_alarms(job[0], job[1], compiler, orders)), jobs
        )
        return [words for each in found for words in each]


def _alarms(source: Path, mode: str, compiler: str, orders: int) -> Iterator[str]:
    """Those of one program in one build, in all orders."""
    done = build(source, mode=mode, compiler=compiler)
    if not done.ok:
        yield f"{source.name} {mode}: {done.messages[:200]}"
        return
    tried = [("forward", 0), ("reverse", 0)]
    if mode != "check":
        tried += [("random", seed) for seed in range(orders)]
    for order, seed in tried:
        try:
            ran = run(done.path, order=order, seed=seed, deadline=120)
        except subprocess.TimeoutExpired:
            yield f"{source.name} {mode} {order} {seed}: no end"
            continue
        if ran.status or ran.report.findings:
            words = "; ".join(said(ran.report))[:300]
            yield f"{source.name} {mode} {order} {seed}: {words}"


def cost(name: str, compiler: str) -> float:
    """Milliseconds of one program: its own median of five, the least of three runs."""
    done = build(HERE / "cost" / f"{name}.cu", mode="run", compiler=compiler)
    assert done.ok, done.messages
    times = []
    for _ in range(3):
        ran = run(done.path)
        assert ran.status == 0, ran.output
        times.append(float(ran.output.split()[0]))
    return min(times)


def build_seconds(mode: str, compiler: str) -> float:
    """Seconds to build one file whose runtime is there: the median of three."""
    source = HERE / "cost" / "matmul_register.cu"
    times = []
    for turn in range(3):
        start = time.monotonic()
        flags = (f"-DTURN={turn}_{start}".replace(".", "_"),)
        assert build(source, mode=mode, compiler=compiler, flags=flags).ok
        times.append(time.monotonic() - start)
    return statistics.median(times)


def measured(
    title: str, measure: Callable[[str, str], float], of: str, limit: float
) -> list[object]:
    """A row: the numbers of all compilers beside what is wanted."""
    return [
        f"{title} (wanted {limit:g})",
        *(f"{measure(of, compiler):.2f}" for compiler in COMPILERS),
    ]


def main(orders: int, machine: str) -> int:
    """The whole proof and its table; 1 if a bug was missed or an alarm was false."""
    command = f"python -m tests.proofs.stress cusim --orders {orders}"
    missed = [bugs(c) for c in COMPILERS]
    false = [alarms(c, orders) for c in COMPILERS]
    failures = [f"- {words}" for each in (*missed, *false) for words in each]
    title = f"false alarms, {len(RIGHT)} programs x {orders} random orders x 2 builds"
    rows = [[f"bugs not named, of {len(SEEN)}", *map(len, missed)]]
    rows += [[title, *map(len, false)]]
    rows += [measured(f"cost/{name}, ms", cost, name, COSTS[name]) for name in COSTS]
    rows += [
        measured(f"build of one file, {mode}, s", build_seconds, mode, limit)
        for mode, limit in BUILDS.items()
    ]
    lines = pages.table(["", *(Path(c).name for c in COMPILERS)], rows)
    print(*lines, *failures, sep="\n", flush=True)
    pages.write(
        "cusim.md",
        "# cusim",
        f"Made by `{command}`, {machine}.",
        "\n".join(lines),
        "\n".join(failures),
    )
    return int(bool(failures))
