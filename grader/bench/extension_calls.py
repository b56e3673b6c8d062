# SPDX-License-Identifier: MIT
"""Makes two tables of `make bench LAB=05`: the cost of a call, and the gain of a
language.

An operator on four numbers does almost no arithmetic. So its time is the time of the
call itself. The second table times the same work in Python, in plain C and as an
operator. It shows when an operator is faster. If something is not built here, it has no
line.
"""

from __future__ import annotations

import contextlib
import functools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from grader import operators
from grader.bench.extension_module import has_cuda, loaded, module
from grader.bench.extension_raw import Raw
from grader.bench.extension_sides import CardClock, Clock, Conv
from grader.checks.speed import timing
from grader.report import tables

BUDGET = 6.0  # seconds for a table's rounds of calls
BUDGET_LANGUAGES = 3.0  # and for a line of languages
BEHIND = "r28_128"  # the case whose kernel comes before
RECORDING = "recording"  # an input requires a gradient: autograd makes a node
Work = Callable[[], object]
Line = dict[str, Any]


class Repeated:
    """A function as a side: as many calls as make a sample."""

    def __init__(self, work: Work, clock: Clock) -> None:
        self.work, self.clock = work, clock
        for _ in range(3):
            work()
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        self.calls = max(1, min(1000, round(timing.SAMPLE / seconds)))

    def prepare(self) -> None:
        """The same numbers each time: nothing is done with them."""

    def sample(self) -> timing.Sample:
        """Some calls."""

        def work() -> None:
            for _ in range(self.calls):
                self.work()

        return self.clock.time(work, self.calls)


class Behind(Repeated):
    """One call behind a kernel whose data have taken the caches."""

    def __init__(self, work: Work, clock: Clock, kernel: Work) -> None:
        super().__init__(work, clock)
        self.kernel, self.calls = kernel, 1

    def sample(self) -> timing.Sample:
        """The call alone."""
        self.kernel()
        return super().sample()


def calls(seed: int) -> list[Line]:
    """Microseconds of one call, by what is called: in a row, and behind a convolution.
    The first are from rounds of their own, in which nothing takes the caches.
    """
    works = {" ".join(key): (key, work) for key, work in _calls()}
    clock, kernel = timing.Stopwatch(), _kernel()

    def timed(sides: dict[str, timing.Side]) -> dict[str, dict[str, float]]:
        rounds = timing.measure(sides, of=[], rng=random.Random(seed), budget=BUDGET)
        found = {n: timing.interval(np.log(rounds.of(n))).times(1e6) for n in sides}
        return {
            n: {"us": one.value, "low": one.low, "high": one.high}
            for n, one in found.items()
        }

    row = timed({n: Repeated(work, clock) for n, (_, work) in works.items()})
    behind = timed({n: Behind(work, clock, kernel) for n, (_, work) in works.items()})
    return [
        {"operator": key[0], "way": key[1], **row[name], "behind": behind[name]}
        for name, (key, _) in works.items()
    ]


def _kernel() -> Work:
    """The bare convolution of a case of the first table."""
    case = operators.get("conv2d").speed_cases()[BEHIND]
    conv = Conv(case, "cpu", 0)
    given = [conv.input, conv.weight, conv.bias]
    return Raw("conv2d").call("forward", given, case.options, [conv.grad])


def _calls() -> Iterator[tuple[tuple[str, str], Work]]:
    """(operator, way) and the call, from the barest to the most usual."""
    yield from _add()
    yield from _conv2d()


def _add() -> Iterator[tuple[tuple[str, str], Work]]:
    add = loaded("add").add
    x, y = torch.randn(4), torch.randn(4)
    leaf = torch.randn(4, requires_grad=True)
    sizes, operator = [4], torch.ops.convlab.add
    bare = Raw("add").call("forward", [x, y], {"alpha": 1.0}, [torch.empty(4)])
    yield ("add", "the kernel alone, by ctypes"), bare
    with contextlib.suppress(ImportError):
        bound = module("pybind").ahead("add")
        yield ("add", "pybind11"), lambda: bound.forward(x, y)

        class Add(torch.autograd.Function):
            """The classic extension: a Function around two functions of pybind11."""

            @staticmethod
            def forward(ctx: Any, input: Any, other: Any) -> Any:
                return bound.forward(input, other)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return bound.backward(grad, sizes, sizes)

        both = ("add", f"autograd.Function around pybind11, {RECORDING}")
        yield both, lambda: Add.apply(leaf, y)
    with contextlib.suppress(AttributeError):
        theirs = module("aten").add.default
        yield ("add", "torch.ops, step (b)"), lambda: theirs(x, y, 1.0)
    yield ("add", "torch.ops, step (c)"), lambda: operator.default(x, y, 1.0)
    yield ("add", "convlab_ext.add"), lambda: add(x, y)
    yield ("add", f"convlab_ext.add, {RECORDING}"), lambda: add(leaf, y)
    yield ("add", "torch.add"), lambda: torch.add(x, y)
    yield ("add", f"torch.add, {RECORDING}"), lambda: torch.add(leaf, y)


def _conv2d() -> Iterator[tuple[tuple[str, str], Work]]:
    package = loaded("conv2d")
    x, w, b = torch.randn(1, 1, 1, 1), torch.randn(1, 1, 1, 1), torch.randn(1)
    bare = Raw("conv2d").call("forward", [x, w, b], {}, [torch.empty(1, 1, 1, 1)])
    yield ("conv2d", "the kernel alone, by ctypes"), bare
    rest = [1, 1], [0, 0], [1, 1], 1
    operator = torch.ops.convlab.conv2d.default
    yield ("conv2d", "torch.ops, step (c)"), lambda: operator(x, w, b, *rest)
    yield ("conv2d", "convlab_ext.conv2d"), lambda: package.conv2d(x, w, b)
    functional = torch.nn.functional.conv2d
    yield ("conv2d", "torch.nn.functional.conv2d"), lambda: functional(x, w, b)
    for name, kind in (
        ("convlab_ext", module("modules").Conv2d),
        ("torch.nn", torch.nn.Conv2d),
    ):
        layer = kind(1, 1, 1)
        leaves = list(layer.parameters())

        def forward(layer: Any = layer) -> Any:
            return layer(x)

        def both(layer: Any = layer, leaves: Any = leaves) -> Any:
            return torch.autograd.grad(layer(x), leaves, torch.ones(1, 1, 1, 1))

        yield ("conv2d", f"{name}.Conv2d, {RECORDING}"), forward
        yield ("conv2d", f"{name}.Conv2d, forward and backward"), both


def call_lines(lines: list[Line]) -> list[str]:
    """The table as Markdown."""
    interval = "95 % interval"
    us = "us in a row", interval, f"us behind {BEHIND}", interval
    head = ("operator", "by way of", *us)
    rows = [
        [
            line["operator"],
            line["way"],
            f"{line['us']:.2f}",
            f"{line['low']:.2f} .. {line['high']:.2f}",
            f"{line['behind']['us']:.0f}",
            f"{line['behind']['low']:.0f} .. {line['behind']['high']:.0f}",
        ]
        for line in lines
    ]
    return [
        "## A call",
        "",
        "Four numbers for `add`, one for `conv2d`, so that only the way takes time. "
        f"The right columns are of one call after the bare kernel of `{BEHIND}`, as "
        "between two layers. The kernel's numbers have replaced all code and small "
        "data in the caches. The same way is several times as long, PyTorch's as well.",
        "",
        *tables.markdown(head, rows),
    ]


# ---- languages -----------------------------------------------------------------------

WAYS = {
    "python": "Python, lab 01",
    "c": "plain C, lab 02",
    "operator": "operator, lab 05",
    "pytorch": "PyTorch",
    "cuda": "operator on CUDA",
}
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "add": ((1024, 1024), (1024, 1024)),
    "matmul": ((256, 256), (256, 256)),
    "conv2d": ((8, 16, 28, 28), (32, 16, 3, 3), (32,)),
}
PYTORCH: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "matmul": torch.matmul,
    "conv2d": torch.nn.functional.conv2d,
}


def languages(seed: int) -> list[Line]:
    """Forward of the same work by every way that is here, in milliseconds."""
    lines = []
    for operator in SHAPES:
        clock = timing.Stopwatch()
        sides: dict[str, timing.Side] = {
            way: Repeated(work, CardClock() if way == "cuda" else clock)
            for way, work in _ways(operator)
        }
        others = [("python", way) for way in sides if way != "python"]
        rounds = timing.measure(
            sides,
            of=others if "python" in sides else [],
            rng=random.Random(seed),
            budget=BUDGET_LANGUAGES,
        )
        line: Line = {"operator": operator, "shapes": SHAPES[operator]}
        line["ms"] = {way: 1e3 * rounds.median(way) for way in sides}
        line["times"] = {}
        for pair in others if "python" in sides else []:
            found = rounds.ratio(*pair)
            line["times"][pair[1]] = [found.value, found.low, found.high]
        lines.append(line)
    return lines


def _ways(operator: str) -> Iterator[tuple[str, Work]]:
    """The ways of an operator, each on the same numbers and right in all of them."""
    import convlab

    tensors = [torch.randn(shape) for shape in SHAPES[operator]]
    right = PYTORCH[operator](*tensors)
    functions: dict[str, Callable[..., Any]] = {}
    with contextlib.suppress(convlab.LoadError):
        functions["python"] = convlab.load(f"01_python_function/{operator}")
    with contextlib.suppress(convlab.LoadError):
        functions["c"] = convlab.load(f"02_naive_c/{operator}/00")
    functions["operator"] = getattr(loaded(operator), operator)
    functions["pytorch"] = PYTORCH[operator]
    for way, function in functions.items():
        torch.testing.assert_close(function(*tensors), right, rtol=1e-3, atol=1e-3)
        yield way, functools.partial(function, *tensors)
    if torch.cuda.is_available() and has_cuda(operator):
        there = [tensor.cuda() for tensor in tensors]
        mine = functions["operator"]
        torch.testing.assert_close(mine(*there).cpu(), right, rtol=1e-3, atol=1e-3)
        yield "cuda", lambda: mine(*there)


def language_lines(lines: list[Line]) -> list[str]:
    """The table as Markdown."""
    ways = [way for way in WAYS if any(way in line["ms"] for line in lines)]
    head = ["operator", *(f"{WAYS[way]}, ms" for way in ways)]
    head += [f"x Python: {WAYS[way]}" for way in ways if way != "python"]
    rows = []
    for line in lines:
        shapes = ", ".join("x".join(map(str, shape)) for shape in line["shapes"])
        row = [f"{line['operator']} of {shapes}"]
        row += [f"{line['ms'][way]:.3f}" if way in line["ms"] else "-" for way in ways]
        for way in ways[1:] if "python" in ways else ways:
            middle, low, high = line["times"].get(way, [None] * 3)
            has_middle = middle is not None
            row.append(f"{middle:.3g} ({low:.3g} .. {high:.3g})" if has_middle else "-")
        rows.append(row)
    return [
        "## Python, C, an operator, a card",
        "",
        "Forward of the same work. Python is the file of lab 01; it calls PyTorch for "
        "its sums. Plain C is the first rung of lab 02.",
        "",
        *tables.markdown(head, rows),
    ]
