# SPDX-License-Identifier: MIT
"""A step of training taken apart: which operators are called, and how long they take.

torch.profiler notes every call of an operator, as a tree: what runs inside of what. To
know which calls belong to a convolution, a range is put around each module's forward;
and of the graph that forward leaves behind, the numbers of the nodes are kept, because
the profiler names a backward call by the number of its node.
"""

from __future__ import annotations

import bisect
import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, record_function

from train.data import Split
from train.loop import Run, batches, step

WARM, STEPS = 2, 8
ROUNDS = 8  # in which the makes take turns
NODE = "autograd::engine::evaluate_function: "
DIRECTIONS = ("forward", "backward")
KINDS = {  # how the names of a network's layers begin -> what they are
    "conv": "convolution",
    "depthwise": "depthwise convolution",
    "linear": "linear",
    "norm": "layer norm",
    "gelu": "gelu",
}
ROLES = tuple(f"{kind} {way}" for kind in KINDS.values() for way in DIRECTIONS)


@dataclass
class Row:
    """An operator within a role: calls and microseconds of one step."""

    calls: float = 0.0
    total: float = 0.0  # with what it calls
    own: float = 0.0


@dataclass
class Profile:
    """One make's step."""

    name: str
    trace: Path
    step: float  # microseconds of a whole step
    calls: float  # of operators in a whole step
    roles: dict[str, Row]
    operators: dict[str, dict[str, Row]]  # by role, then by name

    def share(self, microseconds: float) -> float:
        """Per cent of a step."""
        return 100 * microseconds / self.step if self.step else 0.0


def profiles(
    runs: Sequence[Run], split: Split, folder: Path, rounds: int = ROUNDS
) -> list[Profile]:
    """Every run's profile, the least of some rounds; of the last the Chrome trace.

    In turn, as in training: the machine is not equally fast all the time.
    """
    found: dict[str, Profile] = {}
    for _ in range(rounds):
        for run in runs:
            name = run.layers.name
            new = profile(run, split, folder / f"trace_{name}.json")
            found[name] = _least(found[name], new) if name in found else new
    return list(found.values())


def _least(one: Profile, other: Profile) -> Profile:
    """Of every time the smaller one; calls are the same."""

    def least(rows: dict[str, Row], others: dict[str, Row]) -> dict[str, Row]:
        both = {name: (row, others.get(name, row)) for name, row in rows.items()}
        return {
            name: Row(a.calls, min(a.total, b.total), min(a.own, b.own))
            for name, (a, b) in both.items()
        }

    operators = {
        role: least(one.operators[role], other.operators[role]) for role in ROLES
    }
    roles, step = least(one.roles, other.roles), min(one.step, other.step)
    return Profile(one.name, other.trace, step, one.calls, roles, operators)


def profile(run: Run, split: Split, trace: Path) -> Profile:
    """Profile some steps of a run and write a Chrome trace."""
    cuda = split.images.is_cuda
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    order = [
        rows for epoch in range(WARM + STEPS) for rows in _whole(run, split, epoch)
    ]
    order = [rows.to(split.images.device) for rows in order[: WARM + STEPS]]
    nodes: dict[int, str] = {}
    with _ranges(run.network, nodes):
        for rows in order[:WARM]:
            step(run, split.images[rows], split.labels[rows])
        nodes.clear()
        with torch.profiler.profile(activities=activities) as noted:
            for rows in order[WARM:]:
                with record_function("step"):
                    step(run, split.images[rows], split.labels[rows])
            if cuda:
                torch.cuda.synchronize()
    noted.export_chrome_trace(str(trace))
    return _sorted_out(run.layers.name, trace, noted.events(), nodes, cuda)


def _whole(run: Run, split: Split, epoch: int) -> list[torch.Tensor]:
    """An epoch's batches without a smaller one at its end."""
    found = batches(len(split), run.seed, epoch)
    return [rows for rows in found if len(rows) == len(found[0])]


# ---- which call belongs where --------------------------------------------------------


@contextlib.contextmanager
def _ranges(network: torch.nn.Module, nodes: dict[int, str]) -> Iterator[None]:
    """Name the forward of every layer to the profiler, and its nodes to `nodes`."""
    wrapped = []
    for name, module in network.named_children():
        kind = next(KINDS[begin] for begin in KINDS if name.startswith(begin))
        module.forward = _within(module.forward, kind, nodes)
        wrapped.append(module)
    try:
        yield
    finally:
        for module in wrapped:
            del module.forward  # the class's own is there again


def _within(forward: Any, kind: str, nodes: dict[int, str]) -> Any:
    def called(input: torch.Tensor) -> torch.Tensor:
        with record_function(f"{kind} forward"):
            output = forward(input)
        waiting = [output.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is None or node is input.grad_fn or "Accumulate" in node.name():
                continue
            nodes[node._sequence_nr()] = f"{kind} backward"
            waiting += [before for before, _ in node.next_functions]
        return output

    return called


def _role(event: Any, nodes: dict[int, str]) -> str | None:
    """The role that begins with this event."""
    if event.name in ROLES:
        return event.name
    return nodes.get(event.sequence_nr) if event.name.startswith(NODE) else None


def is_operator(name: str) -> bool:
    """Whether an event is a call through the dispatcher: aten::add, convlab::conv2d."""
    space, mark, rest = name.partition("::")
    return bool(mark) and space != "autograd" and "::" not in rest


def passed_on(event: Any) -> bool:
    """Whether an operator was called by itself: autograd or autocast of its own passes
    it on to the next key, and that is still the same call.
    """
    above = event.cpu_parent
    while above and not is_operator(above.name):
        above = above.cpu_parent
    return bool(above) and above.name == event.name


class _Sums:
    """Calls and times of one row, step by step."""

    def __init__(self) -> None:
        self.calls = 0
        self.totals = [0.0] * STEPS
        self.owns = [0.0] * STEPS

    def row(self) -> Row:
        """Those of one step, the least of all: what is above it is the machine's, which
        did something else in between.
        """
        return Row(self.calls / STEPS, min(self.totals), min(self.owns))


def _sorted_out(
    name: str, trace: Path, events: Any, nodes: dict[int, str], cuda: bool
) -> Profile:
    """Every event to its row and its step."""
    step, every = _Sums(), _Sums()
    roles = {role: _Sums() for role in ROLES}
    operators: dict[str, dict[str, _Sums]] = {
        role: defaultdict(_Sums) for role in ROLES
    }
    starts = sorted(e.time_range.start for e in events if e.name == "step")

    def add(sums: _Sums, event: Any, calls: int = 1, *, inside: bool = True) -> None:
        number = bisect.bisect_right(starts, event.time_range.start) - 1
        total, own = event.cpu_time_total, event.self_cpu_time_total
        if cuda:
            total, own = event.device_time_total, event.self_device_time_total
        sums.calls += calls
        sums.totals[number] += total if inside else 0.0
        sums.owns[number] += own

    def add_below(event: Any, role: str, above: _Sums) -> None:
        for child in event.cpu_children:
            if is_operator(child.name) and not passed_on(child):
                sums = operators[role][child.name]
                add(sums, child)
                roles[role].calls += 1
                add_below(child, role, sums)
            else:  # Python, a node of autograd: its time is that of what called it
                add(above, child, calls=0, inside=False)
                add_below(child, role, above)

    for event in events:
        if event.device_type != torch.autograd.DeviceType.CPU:
            continue  # a kernel: its time is that of the operator that started it
        if event.name == "step":
            add(step, event)
        if is_operator(event.name) and not passed_on(event):
            add(every, event)
        if role := _role(event, nodes):
            add(roles[role], event, calls=0)  # the range is no call
            add_below(event, role, roles[role])
    whole = every.row().own if cuda else step.row().total
    found = {
        role: {operator: sums.row() for operator, sums in operators[role].items()}
        for role in ROLES
    }
    rows = {role: sums.row() for role, sums in roles.items()}
    return Profile(name, trace, whole, every.row().calls, rows, found)
