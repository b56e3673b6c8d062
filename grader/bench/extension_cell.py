# SPDX-License-Identifier: MIT
"""`make bench T=05_torch_extension/lltm` times the cell of PyTorch's tutorial.

The tutorial times a forward and a backward of one cell, written in Python, in C++ and
in CUDA. Here Python is lab 01's Function and C++ is lab 05's operator. Both run in
rounds with a composition of PyTorch's operators. CUDA has a line if there is a card.
Gradients are recorded, as in the tutorial: forward makes a graph, and backward uses it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from grader import operators
from grader.bench.extension_calls import Repeated
from grader.bench.extension_module import has_cuda, loaded
from grader.bench.extension_sides import CardClock, Clock
from grader.bench.request import Wanted, command, machine_words, write_files
from grader.checks.speed import machine, timing
from grader.checks.speed.estimate import Estimate
from grader.engine import results
from grader.errors import GraderError
from grader.operators import Case
from grader.report import tables, terminal
from grader.runner.supervisor.cores import pin
from grader.toolchain import isa

NAME = "lltm"
PARTS = ("forward", "backward")
PYTORCH = "PyTorch's operators, composed"
PYTHON = "Python, lab 01"
OPERATOR = "C++, lab 05"
CARD = "CUDA, labs 04 and 05"
BUDGET = 3.0  # seconds for one case and part
WRONG = 1e-4  # of the largest value
HEAD = (
    "case",
    "part",
    "by way of",
    "us",
    "95 % interval",
    "x PyTorch",
    "95 % interval",
)
Cell = Callable[..., Any]


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    case: str
    part: str
    way: str
    us: Estimate
    ratio: Estimate | None  # of PyTorch's time to this one
    error: float  # of the largest value, against PyTorch in double


def bench(wanted: Wanted) -> int:
    """Measure, print, write. Returns 1 if a value was wrong.

    Raises GraderError if the operator is not built.
    """
    terminal.say(loaded(NAME).parts())
    torch.set_num_threads(wanted.threads)
    machine.keep_memory()
    pin(wanted.threads)
    with machine.Peaks() as found:
        lines = [line for case in _cases(wanted) for line in _lines(case, wanted)]
        peaks = found.as_json()
    page = "\n".join(_page(lines, machine_words(peaks, wanted), wanted))
    print(page)
    whole: dict[str, Any] = {"command": command(wanted)}
    whole["lines"] = [asdict(line) for line in lines]
    whole["environment"] = {**results.environment(), "machine": peaks}
    if not wanted.cases and not wanted.parts:
        terminal.say(f"written: {', '.join(_write(whole, page))}")
    return int(any(line.error > WRONG for line in lines))


def _cases(wanted: Wanted) -> list[Case]:
    every = operators.get(NAME).speed_cases()
    for name in wanted.cases:
        if name not in every:
            raise GraderError(
                f"CASES={name}: {NAME} has no such case, expected some of "
                f"{', '.join(every)}"
            )
    return [every[name] for name in wanted.cases or every]


def _cells() -> Iterator[tuple[str, Cell, str]]:
    """Every way that is here: its name, the function, the device."""
    import convlab

    yield PYTORCH, operators.get(NAME).reference, "cpu"
    try:
        yield PYTHON, convlab.load(f"01_python_function/{NAME}"), "cpu"
    except convlab.LoadError as error:
        terminal.say(f"{PYTHON}: {error}")
    mine = getattr(loaded(NAME), NAME)
    yield OPERATOR, mine, "cpu"
    if torch.cuda.is_available() and has_cuda(NAME):
        yield CARD, mine, "cuda"


def _lines(case: Case, wanted: Wanted) -> Iterator[Line]:
    for part in wanted.parts or PARTS:
        if part not in PARTS:
            raise GraderError(f"PARTS={part}: expected some of {', '.join(PARTS)}")
        terminal.say(f"{case.name} {part}")
        works, errors = _works(case, part, wanted.seed)
        sides: dict[str, timing.Side] = {
            way: Repeated(work, clock) for way, (work, clock) in works.items()
        }
        pairs = [(PYTORCH, way) for way in sides if way != PYTORCH]
        rounds = timing.measure(
            sides, of=pairs, rng=random.Random(wanted.seed), budget=BUDGET
        )
        for way in sides:
            us = timing.interval(np.log(rounds.of(way))).times(1e6)
            ratio = None if way == PYTORCH else rounds.ratio(PYTORCH, way)
            yield Line(case.name, part, way, us, ratio, errors[way])


def _works(
    case: Case, part: str, seed: int
) -> tuple[dict[str, tuple[Callable[[], Any], Clock]], dict[str, float]]:
    """What is timed, by way, and how far from PyTorch in double it is."""
    operator = operators.get(NAME)
    inputs = list(operator.inputs(case, torch.float32, seed).values())
    doubles = [tensor.double().requires_grad_() for tensor in inputs]
    right = operator.reference(*doubles)
    starts = [torch.randn_like(result).float() for result in right]
    gradients = torch.autograd.grad(right, doubles, _double(starts))
    expected = [one.detach() for one in (*right, *gradients)]
    works, errors = {}, {}
    for way, cell, device in _cells():
        leaves = [tensor.detach().to(device).requires_grad_() for tensor in inputs]
        grads = [start.to(device) for start in starts]
        clock: Clock = CardClock() if device == "cuda" else timing.Stopwatch()
        made = cell(*leaves)
        found = [*made, *torch.autograd.grad(made, leaves, grads, retain_graph=True)]
        errors[way] = _error(found, expected)
        works[way] = (_work(cell, part, leaves, made, grads), clock)
    return works, errors


def _double(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.double() for tensor in tensors]


def _work(
    cell: Cell, part: str, leaves: Any, made: Any, grads: Any
) -> Callable[[], Any]:
    """A forward that records, or a backward through one graph."""
    if part == "forward":
        return lambda: cell(*leaves)
    return lambda: torch.autograd.grad(made, leaves, grads, retain_graph=True)


def _error(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> float:
    """The largest difference, as a share of the largest value of its tensor."""
    return max(
        float((mine.detach().cpu().double() - right).abs().max() / right.abs().max())
        for mine, right in zip(found, expected)
    )


# ---- the page ------------------------------------------------------------------------


def _cells_of(line: Line) -> list[str]:
    ratio = (
        [f"{line.ratio.value:.3g}", _interval(line.ratio)] if line.ratio else ["", ""]
    )
    times = [f"{line.us.value:.1f}", _interval(line.us)]
    if line.error > WRONG:
        times, ratio = ["WRONG_VALUE", ""], ["", ""]
    return [line.case, line.part, line.way, *times, *ratio]


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.3g} .. {estimate.high:.3g}"


def _page(lines: Sequence[Line], note: str, wanted: Wanted) -> list[str]:
    """The table as Markdown."""
    rows = [_cells_of(line) for line in lines]
    card = any(line.way == CARD for line in lines)
    if not card:
        rows.append(["all", "both", CARD, "pending: no GPU here", "", "", ""])
    sizes = "; ".join(
        f"`{case.name}` " + ", ".join(f"{k} = {v}" for k, v in case.sizes.items())
        for case in _cases(wanted)
    )
    return [
        "# The tutorial's cell in Python, C++ and CUDA",
        "",
        f"Made by `{command(wanted)}`. The cell is that of PyTorch's C++ extension "
        f"tutorial (N samples, IC input features, state size H): {sizes}. Gradients of "
        "all five tensors are recorded; backward uses a graph that exists already. "
        "The kernels of C++ are lab 03's rungs.",
        "",
        *tables.markdown(HEAD, rows),
        "",
        note,
        "",
    ]


def _write(whole: dict[str, Any], page: str) -> list[str]:
    """JSON and the page. Returns their names."""
    made = json.dumps(whole, indent=1) + "\n"
    stem = f"lltm{isa.suffix()}"
    return write_files({f"{stem}.json": made, f"{stem}.md": page})
