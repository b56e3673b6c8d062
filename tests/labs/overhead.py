# SPDX-License-Identifier: MIT
"""What a call of five operators costs on tiny inputs, beside PyTorch's own functions.

    python -m tests.labs.overhead    docs/results/overhead.md, after make build LAB=05

The calls of a table run in turns, hot in a row, on one thread. A ratio is the median of
the paired ratios. plain_functions.py has the plain torch.autograd.Function of each.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F

from grader.bench.extension_calls import Repeated
from grader.bench.extension_module import loaded
from grader.bench.extension_raw import Raw
from grader.checks.speed import timing
from grader.checks.speed.estimate import Estimate
from tests.labs.plain_functions import PLAIN
from tests.proofs import pages

BUDGET = 3.0  # seconds for a table's line
Work = Callable[..., Any]
BOUNDS = {"add": 3.0, "linear": 1.5, "conv2d": 1.5, "layer_norm": 1.5}
CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
WAYS = ("bare kernel", "on key CPU", "below Autograd", "convlab_ext", "PyTorch")
STEPS = (
    "bare kernel",
    "arguments, stable ABI",
    "torch.ops, guard",
    "public function",
    "PyTorch",
)
RECORDING = ("PyTorch", "convlab_ext", "plain Function")
TEXT = """# What a call costs beside PyTorch's

Made by `python -m tests.labs.overhead` on {}; 1 thread.
The inputs are tiny: 4 numbers for `add`, (2, 4) for `linear`, `layer_norm` and `gelu`,
one number and one weight for `conv2d`. So only the way of a call takes time. All
numbers but the last columns are shares of the time of PyTorch's function."""
NO_GRAD = """## Nothing requires a gradient

Each column contains the one before it. *bare kernel*: the rung of lab 03, called by
ctypes. *on key CPU*: Python gives the arguments to PyTorch's dispatcher, which reads
them by the schema, and calls our C++ through the stable ABI. *below Autograd*:
torch.ops, with the key Autograd excluded; the dispatcher finds the key, and the
profiler can see the call. *convlab_ext*: the public function, which looks whether
something must be recorded."""
PARTS = """The same in microseconds, each column without the one before it:"""
STAYS = """What stays:

- The arguments are read by the schema, and each tensor becomes a handle of the stable
  ABI, with memory of its own. PyTorch's functions read their arguments by generated
  code. `conv2d` has three lists of SymInt, and each number is asked whether it is a
  symbol. `layer_norm` returns three tensors to Python, PyTorch's function one.
- The guard that excludes the key Autograd is a Python object. A C++ kernel on the key
  Autograd would need none. But the stable ABI cannot ask whether a tensor requires a
  gradient, and has no autograd function. So the guard and the question are Python."""
WITH_GRAD = """## Weight and bias require a gradient (`add`, `gelu`: the input)

*plain Function* is a torch.autograd.Function around the same kernel
(`tests/labs/plain_functions.py`). It saves what backward needs, and has no other rule:
no torch.func, no forward mode, no second derivative, no autocast. The public function
asks for these, and its rule keeps what they need: both are Python, in each call."""


@dataclass(frozen=True)
class Case:
    """A call of an operator. Tensors stand in front, options behind."""

    torchs: Work  # PyTorch's function
    shapes: tuple[tuple[int, ...], ...]  # of the tensors
    outputs: tuple[tuple[int, ...], ...]
    leaves: slice  # what requires a gradient in the second table
    options: tuple[Any, ...] = ()  # of the operator, behind the tensors
    named: dict[str, Any] = field(default_factory=dict)  # and of the kernel
    shape: tuple[list[int], ...] = ()  # layer_norm's, behind the input


PAIR = [1, 1], [0, 0], [1, 1], 1
PARAMETERS, INPUT = slice(1, 3), slice(1)
CASES = {
    "add": Case(torch.add, ((4,), (4,)), ((4,),), INPUT, (1.0,), {"alpha": 1.0}),
    "linear": Case(F.linear, ((2, 4), (3, 4), (3,)), ((2, 3),), PARAMETERS),
    "conv2d": Case(F.conv2d, ((1,) * 4, (1,) * 4, (1,)), ((1,) * 4,), PARAMETERS, PAIR),
    "layer_norm": Case(
        F.layer_norm,
        ((2, 4), (4,), (4,)),
        ((2, 4), (2,), (2,)),
        PARAMETERS,
        (1e-5,),
        {"eps": 1e-5},
        ([4],),
    ),
    "gelu": Case(
        F.gelu, ((2, 4),), ((2, 4),), INPUT, ("none",), {"approximate": "none"}
    ),
}


class Call:
    """A case with its tensors; those that get a gradient, if it is recorded."""

    def __init__(self, name: str, *, recorded: bool) -> None:
        self.name, self.case = name, CASES[name]
        generator = torch.Generator().manual_seed(7)
        tensors = [torch.randn(s, generator=generator) for s in self.case.shapes]
        self.leaves = tensors[self.case.leaves]
        for leaf in self.leaves:
            leaf.requires_grad_(recorded)
        public = (tensors[0], *self.case.shape, *tensors[1:])
        self.tensors, self.arguments = tensors, (*public, *self.case.options)
        self.torchs = partial(self.case.torchs, *public)
        self.ours = partial(getattr(loaded(name), name), *public)
        self.plain = partial(PLAIN[name], *self.arguments)

    def ways(self) -> dict[str, Work]:
        """Of a call that records nothing, from the barest to the most usual."""
        operator = getattr(torch.ops.convlab, self.name).default
        outputs = [torch.empty(size) for size in self.case.outputs]
        bare = Raw(self.name).call("forward", self.tensors, self.case.named, outputs)
        on_key = partial(operator._handle.redispatch_boxed, CPU, *self.arguments)
        under = partial(below_autograd, operator, *self.arguments)
        return dict(zip(WAYS, (bare, on_key, under, self.ours, self.torchs)))

    def recording(self, *, backward: bool) -> dict[str, Work]:
        """PyTorch's function, ours and the plain one."""
        works = self.torchs, self.ours, self.plain
        if backward:
            works = tuple(partial(self.through, work) for work in works)
        return dict(zip(RECORDING, works))

    def through(self, forward: Work) -> Any:
        """Forward, then backward to the leaves."""
        output = forward()
        return torch.autograd.grad(output, self.leaves, torch.ones_like(output))


def below_autograd(operator: Any, *arguments: Any) -> Any:
    """torch.ops without the key Autograd."""
    with torch._C._AutoDispatchBelowAutograd():
        return operator(*arguments)


def measured(
    works: dict[str, Work], under: str, seed: int = 1
) -> tuple[dict[str, Estimate], float]:
    """The ratio of each to `under`, and the microseconds of that one."""
    clock = timing.Stopwatch()
    sides: dict[str, timing.Side] = {n: Repeated(w, clock) for n, w in works.items()}
    rng = random.Random(seed)
    rounds = timing.measure(sides, of=[], rng=rng, budget=BUDGET)
    ratios = {name: rounds.ratio(name, under) for name in works}
    return ratios, 1e6 * rounds.median(under)


def without_gradients() -> tuple[list[str], list[str]]:
    """The first two tables."""
    rows, parts = [], []
    for name in CASES:
        found, us = measured(Call(name, recorded=False).ways(), "PyTorch")
        spent = [us * found[way].value for way in WAYS]
        steps = [spent[0], *(b - a for a, b in pairwise(spent[:-1])), spent[-1]]
        parts.append([name, *(f"{step:.2f}" for step in steps)])
        shares = [f"{found[way].value:.2f}" for way in WAYS[:-1]]
        low, high = found["convlab_ext"].low, found["convlab_ext"].high
        wanted = BOUNDS.get(name, "-")
        rows.append([name, *shares, f"{low:.2f} .. {high:.2f}", wanted, f"{us:.2f}"])
    head = ["operator", *WAYS[:-1], "95 % interval", "wanted at most", "PyTorch, us"]
    return pages.table(head, rows), pages.table(["operator", *STEPS], parts)


def with_gradients() -> list[str]:
    """The second table."""
    rows = []
    for name in CASES:
        call, row = Call(name, recorded=True), [name]
        for backward in (False, True):
            works = call.recording(backward=backward)
            found, us = measured(works, "PyTorch")
            more, _ = measured(works, "plain Function")
            row += [f"{found[n].value:.2f}" for n in RECORDING[1:]]
            row += [f"{more['convlab_ext'].value:.2f}", f"{us:.2f}"]
        rows.append(row)
    names = *RECORDING[1:], "ours / plain", "PyTorch, us"
    head = [f"{part}: {name}" for part in ("forward", "both") for name in names]
    return pages.table(["operator", *head], rows)


def main() -> int:
    """Measure, and write the page."""
    torch.set_num_threads(1)
    shares, parts = ("\n".join(rows) for rows in without_gradients())
    recorded = "\n".join(with_gradients())
    words = TEXT.format(pages.machine()), NO_GRAD, shares, PARTS, parts, STAYS
    pages.write("overhead.md", *words, WITH_GRAD, recorded)
    return 0


if __name__ == "__main__":
    sys.exit(main())
