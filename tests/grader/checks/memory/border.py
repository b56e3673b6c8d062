# SPDX-License-Identifier: MIT
"""What the border between supervisor and student costs, in microseconds.

    python -m tests.grader.checks.memory.border [--write]

A checked call carries everything: inputs placed against guard pages, fences and outputs
poisoned, hand-over, the worker frozen, outputs scanned and copied. A timed call is what
the clock sees: hand-over and freeze, shared by the calls of one wake. Both are measured
on an operator that does next to nothing, so that what remains is the border.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import torch

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values import gradient
from grader.course.tasks import select
from grader.engine.answers.earlier_links import build
from grader.operators import Case
from grader.runner.supervisor.call import Call, Output, Placement, Run
from grader.runner.supervisor.cores import pin
from grader.toolchain.make import build_tools
from tests.proofs import pages
from tests.proofs.trust import at_level, levels

REPEATS = 2000
GRADCHECK = {"N": 2, "IC": 4, "IH": 7, "IW": 9, "OC": 6, "KH": 3, "KW": 2}
# microseconds of a checked call and of a timed one of four; seconds of the gradcheck
WANTED = {"checked": 90.0, "timed": 10.0, "gradcheck": 0.8}
HEAD = (
    "sandbox",
    "checked call, us",
    "without freeze",
    "timed, 1 a wake",
    "timed, 4",
    "slow gradcheck, s",
    "PyTorch's own conv2d",
)
TITLE = "# What the border costs"
MADE = f"""Made by `python -m tests.grader.checks.memory.border --write`; medians of
{REPEATS} calls (gradcheck: of 5) on {{}}."""
EXPLAINED = f"""A checked call places three inputs and one output against guard pages,
poisons, runs, freezes, scans and copies. A timed call is what the clock shows for one
call of an operator that does next to nothing, at one and at four fresh inputs a wake:
what the border adds to a time. The gradcheck is conv2d 2x4x7x9, weight 6x2x3x2, groups
2: 1166 forward and 1178 backward calls. Wanted: at most {WANTED["checked"]:g} us for a
checked call, {WANTED["timed"]:g} us for a timed one at four a wake,
{WANTED["gradcheck"]:g} s for the gradcheck."""


def subject(name: str) -> Subject:
    """The reference of lab 02 for an operator."""
    (task,) = select(f"02_naive_c/{name}").tasks
    built = build(task.rungs[0])
    libraries = {dtype: (path, path) for dtype, path in built.libraries.items()}
    return Subject(operators.get(name), libraries=libraries)


def checked(*, frozen: bool) -> float:
    """Median microseconds of a checked call of linear, four tensors of a few bytes."""
    under = subject("linear")
    inputs = [
        torch.randn(shape, dtype=torch.float64) for shape in ((2, 3), (4, 3), (4,))
    ]
    call = Call(
        operators.number("linear"),
        Run.FORWARD,
        inputs,
        [Output((2, 4), torch.float64)],
        freeze=frozen,
    )
    worker = under.worker("f64")
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        for i, tensor in enumerate(inputs):
            call.set_input(i, tensor)
        worker.run(call)
        times.append((time.perf_counter_ns() - start) / 1000)
    under.close()
    return statistics.median(times)


def timed(copies: int) -> float:
    """Median microseconds that the clock shows for one of `copies` calls of a wake."""
    under = subject("linear")
    inputs = [torch.ones(copies, 1, 1), torch.ones(1, 1)]
    call = Call(
        operators.number("linear"),
        Run.FORWARD,
        [inputs[0][0], inputs[1]],
        [Output((1, 1), torch.float32)],
        copies=copies,
        placement=Placement.ALIGN,
    )
    worker = under.worker("f32")
    times = []
    for _ in range(REPEATS):
        worker.run(call)
        times.append(call.request.wall_ns / 1000 / copies)
    under.close()
    return statistics.median(times)


def slow_gradcheck() -> tuple[float, float]:
    """Seconds of a slow gradcheck of conv2d: over the border, and PyTorch's own."""
    under = subject("conv2d")
    case = Case("border", GRADCHECK, {"groups": 2}, gradcheck=True)
    mine, theirs = [], []
    operator = under.operator
    made = operator.inputs(case, torch.float64, 1)
    inputs = [tensor.requires_grad_() for tensor in made.values()]
    for _ in range(5):
        start = time.perf_counter()
        result = gradient.gradcheck(under, [case], 1)
        mine.append(time.perf_counter() - start)
        assert str(result.verdict) == "PASS", result.message
        start = time.perf_counter()
        torch.autograd.gradcheck(
            lambda *x: torch.conv2d(*x, groups=2),
            inputs,
            check_undefined_grad=False,
            check_batched_grad=False,
        )
        theirs.append(time.perf_counter() - start)
    under.close()
    return statistics.median(mine), statistics.median(theirs)


def too_slow(level: str, found: dict[str, float]) -> list[str]:
    """What is not as WANTED of the numbers of a sandbox level."""
    return [
        f"{level}: {name} takes {found[name]:.3g}, at most {limit:g} is wanted"
        for name, limit in WANTED.items()
        if not found[name] <= limit
    ]


def table() -> tuple[list[str], list[str]]:
    """Measure every level this machine has: a table, and what is not as wanted."""
    rows: list[list[str]] = []
    wrong: list[str] = []
    for level in levels():
        with at_level(level):
            seconds, theirs = slow_gradcheck()
            call, shared = checked(frozen=True), timed(4)
            numbers = [f"{call:.0f}", f"{checked(frozen=False):.0f}", f"{timed(1):.1f}"]
            numbers += [f"{shared:.1f}", f"{seconds:.2f}", f"{theirs:.2f}"]
            rows.append([level, *numbers])
        found = {"checked": call, "timed": shared, "gradcheck": seconds}
        wrong += too_slow(level, found)
    return pages.table(HEAD, rows), wrong


def main(arguments: list[str]) -> int:
    """Measure, print, and write docs/results/border.md if asked; 1 if too slow."""
    parser = argparse.ArgumentParser(prog="python -m tests.grader.checks.memory.border")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(arguments)
    build_tools()
    torch.set_num_threads(1)
    pin()
    lines, wrong = table()
    print("\n".join(lines))
    for text in wrong:
        print(f"not as wanted: {text}")
    if args.write:
        made = MADE.format(pages.machine())
        pages.write("border.md", TITLE, made, "\n".join(lines), EXPLAINED)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
