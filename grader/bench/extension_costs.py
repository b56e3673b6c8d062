# SPDX-License-Identifier: MIT
"""`make bench LAB=05` measures the cost and the gain of an operator of PyTorch.

There are three tables, all from interleaved rounds (timing.py) in this process. The
process keeps its memory (machine.keep_memory), because PyTorch is fastest then:

    shapes     Conv2d of convlab_ext against torch.nn.Conv2d and against the bare kernel
    calls      what one call costs, by the way it takes (extension_calls.py)
    languages  the same work in Python, in C, as an operator, on a card

They are kept as JSON and as a page (bench.folder). The timed code runs in this process,
so it could report a wrong time. So these times give no points.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from grader.bench import extension_calls, extension_sides
from grader.bench.extension_module import has_cuda, loaded
from grader.bench.extension_raw import Raw
from grader.bench.request import Wanted, command, machine_words, write_files
from grader.checks.speed import baseline, machine, timing
from grader.checks.speed.baseline import BOTH
from grader.checks.speed.estimate import Estimate
from grader.engine import results
from grader.engine.answers import earlier_links
from grader.errors import GraderError
from grader.operators import Case
from grader.report import tables, terminal
from grader.runner.supervisor.cores import pin
from grader.toolchain import isa
from grader.toolchain.extension import package

PARTS = ("forward", BOTH)
BUDGET = 2.0  # seconds for one line of a table
TRIES = 3
WRONG = 1e-4  # of the largest value: Winograd's transforms are at 1e-5
HEAD = (
    "shape",
    "part",
    "PyTorch ms",
    "convlab_ext ms",
    "x PyTorch",
    "95 % interval",
    "x bare kernel",
    "95 % interval",
    "more than it, us",
    "operator alone, us more",
    "baseline",
)


@dataclass(frozen=True)
class Shape:
    """One line of the first table; times in seconds."""

    device: str
    case: str
    part: str
    baseline: str
    seconds: Mapping[str, float]  # by way, medians
    more: Mapping[str, float]  # than the bare kernel, by way; in a row
    ratio: Estimate  # PyTorch's time over the module's
    cost: Estimate | None  # the module's over the bare kernel's, in a row
    rounds: int
    noisy: bool
    error: float  # of the largest value, against PyTorch


def bench(wanted: Wanted) -> int:
    """Measure, print, write. Returns 1 if a value was wrong.

    Raises GraderError if convlab_ext is not built.
    """
    ours = loaded("conv2d")
    torch.set_num_threads(wanted.threads)
    machine.keep_memory()
    pin(wanted.threads)
    terminal.say(ours.parts())
    whole: dict[str, Any] = {"command": command(wanted)}
    with machine.Peaks() as found:
        shapes = list(_shapes(wanted))
        whole["shapes"] = [asdict(shape) for shape in shapes]
        if not wanted.cases:
            if why := package.earlier_steps(["add"], earlier_links.kernel_links()):
                terminal.say(why)
            whole["calls"] = extension_calls.calls(wanted.seed)
            whole["languages"] = extension_calls.languages(wanted.seed)
        peaks = found.as_json()
    whole["environment"] = {**results.environment(), "machine": peaks}
    whole["environment"]["threads"] = wanted.threads
    page = "\n".join(_page(whole, shapes, machine_words(peaks, wanted)))
    print(page)
    if not wanted.cases and not wanted.parts:
        terminal.say(f"written: {', '.join(_write(whole, page, wanted))}")
    return int(any(shape.error > WRONG for shape in shapes))


def _shapes(wanted: Wanted) -> Iterator[Shape]:
    from grader import operators

    cases = operators.get("conv2d").speed_cases()
    small = operators.get("conv2d").speed_cases(large=False)
    names = wanted.cases or tuple(name for name in cases if name not in small)
    for name in names:
        if name not in cases:
            raise GraderError(
                f"CASES={name}: conv2d has no such case, expected some of "
                f"{', '.join(cases)}"
            )
    raw = Raw("conv2d")
    devices = ["cpu"]
    if torch.cuda.is_available() and has_cuda("conv2d"):
        devices.append("cuda")
    for device in devices:
        for name in names:
            for part in wanted.parts or PARTS:
                terminal.say(f"{device} {name} {part}")
                yield _shape(cases[name], device, part, raw, wanted.seed)


def _shape(case: Case, device: str, part: str, raw: Raw, seed: int) -> Shape:
    """Measure one line, again if the machine was busy."""
    conv = extension_sides.Conv(case, device, seed)
    ways = extension_sides.sides(conv, part, raw if device == "cpu" else None)
    error = _error(ways)
    rounds = _measured(ways, [("pytorch", "module")], conv, seed)
    ratio = rounds.ratio("pytorch", "module")
    seconds = {way: rounds.median(way) for way in ways}
    cost, more = None, {}
    if "raw" in ways:
        ours = {name: way for name, way in ways.items() if name != "pytorch"}
        extension_sides.in_a_row(ours.values())
        row = _measured(ours, [("module", "raw")], conv, seed)
        cost = row.ratio("module", "raw")
        more = {name: row.median(name) - row.median("raw") for name in ours}
    once = baseline.Data(conv.operator, case, 1, seed)
    name = baseline.name(conv.operator, case, once, part)
    return Shape(
        device,
        case.name,
        part,
        name if device == "cpu" else "pytorch/cuDNN",
        seconds,
        more,
        ratio,
        cost,
        rounds.count,
        ratio.noisy or bool(cost and cost.noisy),
        error,
    )


def _measured(
    ways: Mapping[str, extension_sides.Way],
    wanted: list[tuple[str, str]],
    conv: extension_sides.Conv,
    seed: int,
) -> timing.Rounds:
    """Rounds of all ways, again if the machine was busy."""
    for attempt in range(TRIES):
        rng = random.Random(seed + attempt)
        rounds = timing.measure(
            dict(ways), of=wanted, rng=rng, budget=BUDGET, after=conv.renew
        )
        if not any(rounds.ratio(*pair).noisy for pair in wanted):
            break
    return rounds


def _error(ways: Mapping[str, extension_sides.Way]) -> float:
    """The largest difference to PyTorch, of all ways and results."""
    for way in ways.values():
        way.prepare()
    right = ways["pytorch"].once()
    worst = 0.0
    for way in ways.values():
        for mine, theirs in zip(way.once(), right):
            expected = theirs.detach().double()
            off = (mine.detach().double() - expected).abs().max()
            worst = max(worst, float(off / expected.abs().max()))
            if not math.isfinite(worst):
                return math.inf
    return worst


# ---- the page ------------------------------------------------------------------------


def _cells(shape: Shape) -> list[str]:
    seconds, noisy = shape.seconds, " NOISY" if shape.noisy else ""
    name = f"{shape.case} on {shape.device.upper()}"
    if shape.error > WRONG:
        return [name, shape.part, "WRONG_VALUE", *[""] * 7, shape.baseline]
    cost, more = ["-", "-"], ["-", "-"]
    if shape.cost:
        cost = [f"{shape.cost.value:.3f}", _interval(shape.cost)]
        more = [f"{1e6 * shape.more[way]:.1f}" for way in ("module", "operator")]
    return [
        name,
        shape.part,
        f"{1e3 * seconds['pytorch']:.3f}",
        f"{1e3 * seconds['module']:.3f}",
        f"{shape.ratio.value:.3g}",
        f"{_interval(shape.ratio)}{noisy}",
        *cost,
        *more,
        shape.baseline,
    ]


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.3g} .. {estimate.high:.3g}"


def _page(whole: dict[str, Any], shapes: Sequence[Shape], note: str) -> list[str]:
    """The tables as Markdown."""
    threads = whole["environment"]["threads"]
    lines = [
        f"# What an operator of PyTorch costs{_with(threads)}",
        "",
        f"Made by `{whole['command']}`; {threads} thread{'s' * (threads > 1)}.",
        "",
        "## Conv2d",
        "",
        "The module is compared with `torch.nn.Conv2d` and with the same kernels, "
        "called bare. Autograd is on: weight, bias and (for both directions) input "
        "need gradients. The bare kernels make new outputs too. They have no "
        "dispatcher, no checks and no graph; their scratch memory is there before. "
        "Times and the ratio to PyTorch come from alternating calls, as a network "
        "calls its layers. What a call costs more than the bare kernel comes from "
        "calls in a row.",
        "",
        *tables.markdown(HEAD, [_cells(shape) for shape in shapes]),
    ]
    sections: dict[str, Callable[[Any], list[str]]] = {
        "calls": extension_calls.call_lines,
        "languages": extension_calls.language_lines,
    }
    for name, make in sections.items():
        if name in whole:
            lines += ["", *make(whole[name])]
    return [*lines, "", note, ""]


def _with(threads: int) -> str:
    """What sets a page apart from the others of its kind: theirs are one thread's."""
    said = (f"{threads} threads" if threads > 1 else "", isa.held())
    return "".join(f", {word}" for word in said if word)


def _write(whole: dict[str, Any], page: str, wanted: Wanted) -> list[str]:
    """JSON and the page. Returns their names."""
    stem = f"convperf_{wanted.threads}_threads" if wanted.threads > 1 else "convperf"
    stem += isa.suffix()
    made = json.dumps(whole, indent=1) + "\n"
    return write_files({f"{stem}.json": made, f"{stem}.md": page})
