# SPDX-License-Identifier: MIT
"""Defines the sides of `make bench LAB=05`: the same convolution, called in four ways.

    pytorch   torch.nn.Conv2d with its default backend
    module    convlab_ext.Conv2d, autograd on: what a user calls
    operator  torch.ops.convlab.conv2d: the dispatcher, no module and no graph
    raw       the kernel alone, called by ctypes (extension_raw.py)

Every side has its own tensors. Before each sample they are filled with the numbers of
this round. So no side finds its inputs in a better cache than the others.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from grader.bench.extension_module import module
from grader.bench.extension_raw import Raw
from grader.checks.speed import timing
from grader.checks.speed.baseline import BOTH
from grader.operators import Case

WAYS = ("pytorch", "module", "operator", "raw")
IN_A_ROW = 4e-3  # seconds of calls in a row


class Clock(Protocol):
    """Times a function that makes some calls."""

    def time(self, work: Callable[[], object], calls: int) -> timing.Sample:
        """Seconds of one of the calls."""


class CardClock:
    """Events around the calls on the current stream: the card's own time."""

    def time(self, work: Callable[[], object], calls: int) -> timing.Sample:
        """Seconds of one of the calls."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return timing.Sample(begin.elapsed_time(end) * 1e-3 / calls)


class Conv:
    """A convolution of the bench: its numbers, and what every way needs of it."""

    def __init__(self, case: Case, device: str, seed: int) -> None:
        """`device` is cpu or cuda."""
        from grader import operators

        self.operator = operators.get("conv2d")
        self.case, self.device = case, device
        options = self.operator.signature.resolve(case.options)
        self.options = options
        drawn = self.operator.inputs(case, torch.float32, seed)
        self.input = drawn["input"].contiguous().to(device)
        self.weight = drawn["weight"].contiguous().to(device)
        self.bias = drawn["bias"].contiguous().to(device)
        output = torch.nn.functional.conv2d(
            self.input, self.weight, self.bias, **options
        )
        self.grad = torch.randn_like(output)

    def renew(self) -> None:
        """Other numbers, for the next round."""
        self.input.normal_()
        self.grad.normal_()

    def layer(self, kind: type[torch.nn.Conv2d]) -> torch.nn.Conv2d:
        """A module with this weight and bias, of torch.nn or of convlab_ext."""
        OC, IC, KH, KW = self.weight.shape
        groups = self.options["groups"]
        made = kind(IC * groups, OC, (KH, KW), device=self.device, **self.options)
        with torch.no_grad():
            made.weight.copy_(self.weight)
            assert made.bias is not None
            made.bias.copy_(self.bias)
        return made

    @property
    def arguments(self) -> list[Any]:
        """Of the operator, behind its tensors."""
        names = "stride", "padding", "dilation"
        return [*(list(self.options[n]) for n in names), self.options["groups"]]


class Way:
    """One side: `once` does the work and returns its results."""

    def __init__(self, conv: Conv, direction: str, clock: Clock) -> None:
        """`direction` is forward, or both."""
        self.conv, self.both, self.clock = conv, direction == BOTH, clock
        self.rng = random.Random(str(conv.case))
        self.input = conv.input.clone().requires_grad_(self.both)
        self.grad = conv.grad.clone()
        self.calls, self.in_a_row = 1, False

    def once(self) -> Sequence[Tensor]:
        """The output, and with `both` the gradients of input, weight and bias."""
        raise NotImplementedError

    def prepare(self) -> None:
        """The numbers of this round."""
        with torch.no_grad():
            self.input.copy_(self.conv.input)
            self.grad.copy_(self.conv.grad)

    def sample(self) -> timing.Sample:
        """Some calls, one after the other."""
        for _ in range(self.rng.randint(1, 3) if self.in_a_row else 0):
            self.once()

        def work() -> None:
            for _ in range(self.calls):
                self.once()

        return self.clock.time(work, self.calls)

    def adjust(self, seconds: float = timing.SAMPLE) -> None:
        """Choose how many calls make a sample."""
        self.once()
        start = time.perf_counter()
        self.once()
        took = time.perf_counter() - start
        self.calls = max(1, min(200, round(seconds / took)))


class Module(Way):
    """A layer, as in a training loop."""

    def __init__(
        self, conv: Conv, direction: str, clock: Clock, kind: type[torch.nn.Conv2d]
    ) -> None:
        super().__init__(conv, direction, clock)
        self.layer = conv.layer(kind)
        self.leaves = [self.input, *self.layer.parameters()]

    def once(self) -> Sequence[Tensor]:
        """Autograd is on, and records."""
        output = self.layer(self.input)
        if not self.both:
            return (output,)
        return (output, *torch.autograd.grad(output, self.leaves, self.grad))


class Operator(Way):
    """torch.ops.convlab.conv2d and its backward, by name."""

    def once(self) -> Sequence[Tensor]:
        """Without a graph."""
        conv, ops = self.conv, torch.ops.convlab
        with torch.no_grad():
            output = ops.conv2d.default(
                self.input, conv.weight, conv.bias, *conv.arguments
            )
            if not self.both:
                return (output,)
            grads = ops.conv2d_backward.default(
                self.grad, self.input, conv.weight, *conv.arguments, [True] * 3
            )
        return (output, *grads)


class Bare(Way):
    """The kernel itself."""

    def __init__(self, conv: Conv, direction: str, clock: Clock, raw: Raw) -> None:
        super().__init__(conv, direction, clock)
        weight, bias = conv.weight, conv.bias
        options = conv.case.options
        forward = [self.input, weight, bias], options, [conv.grad]
        self._calls = [raw.call("forward", *forward, fresh=True)]
        if self.both:
            backward = [self.grad, self.input, weight], options
            like = [self.input.detach(), weight, bias]
            self._calls.append(raw.call("backward", *backward, like, fresh=True))

    def once(self) -> Sequence[Tensor]:
        """Its results are new tensors, as an operator's are."""
        return [result for call in self._calls for result in call()]


def sides(conv: Conv, direction: str, raw: Raw | None) -> dict[str, Way]:
    """All ways; the bare kernel is called on the processor alone."""
    clock: Clock = timing.Stopwatch() if conv.device == "cpu" else CardClock()
    made: dict[str, Way] = {
        "pytorch": Module(conv, direction, clock, torch.nn.Conv2d),
        "module": Module(conv, direction, clock, module("modules").Conv2d),
        "operator": Operator(conv, direction, clock),
    }
    if raw:
        made["raw"] = Bare(conv, direction, clock, raw)
    for way in made.values():
        way.adjust()
    return made


def in_a_row(ways: Collection[Way]) -> None:
    """From now on a sample is calls in a row, of every way as many, behind some that
    are not counted: code and small data are in the caches, and a difference is work.

    How many are not counted is drawn anew each time. The C library hands out free
    blocks in turn, and which of them a result lies in must not depend on the way.
    """
    for way in ways:
        way.adjust(IN_A_ROW)
    most = max(way.calls for way in ways)
    for way in ways:
        way.calls, way.in_a_row = most, True
