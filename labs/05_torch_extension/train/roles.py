# SPDX-License-Identifier: MIT
"""The events of a recorded step, sorted: which operator call belongs to which layer.

The profiler gives its events as a tree: what runs inside of what. A forward begins with
the range around the layer, a backward with a node of the graph that the forward left.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

PROFILED = 8  # steps of one record
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


def role_of(event: Any, nodes: dict[int, str]) -> str | None:
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
        self.totals = [0.0] * PROFILED
        self.owns = [0.0] * PROFILED

    def row(self) -> Row:
        """Those of one step, the least of all: what is above it is the machine's, which
        did something else in between.
        """
        return Row(self.calls / PROFILED, min(self.totals), min(self.owns))


def sorted_out(
    name: str, trace: Path, events: Any, nodes: dict[int, str], cuda: bool
) -> Profile:
    """Every event to its row and its step; `nodes` has the roles of backward nodes."""
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
        if role := role_of(event, nodes):
            add(roles[role], event, calls=0)  # the range is no call
            add_below(event, role, roles[role])
    whole = every.row().own if cuda else step.row().total
    found = {
        role: {operator: sums.row() for operator, sums in operators[role].items()}
        for role in ROLES
    }
    rows = {role: sums.row() for role, sums in roles.items()}
    return Profile(name, trace, whole, every.row().calls, rows, found)
