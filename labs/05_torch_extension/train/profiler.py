# SPDX-License-Identifier: MIT
"""A step of training taken apart: which operators are called, and how long they take.

torch.profiler records every call of an operator. To know which calls belong to a
convolution, a range is put around each module's forward. Of the graph that forward
leaves behind, the numbers of the nodes are kept, because the profiler names a backward
call by the number of its node. roles.py then sorts the calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, record_function

from train.data import Split
from train.loop import Run, batches, step
from train.roles import KINDS, PROFILED, ROLES, Profile, Row, sorted_out

WARM = 2
ROUNDS = 8  # in which the makes take turns


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
        rows for epoch in range(WARM + PROFILED) for rows in _whole(run, split, epoch)
    ]
    order = [rows.to(split.images.device) for rows in order[: WARM + PROFILED]]
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
    return sorted_out(run.layers.name, trace, noted.events(), nodes, cuda)


def _whole(run: Run, split: Split, epoch: int) -> list[torch.Tensor]:
    """An epoch's batches without a smaller one at its end."""
    found = batches(len(split), run.seed, epoch)
    return [rows for rows in found if len(rows) == len(found[0])]


# ---- what the profiler is told ------------------------------------------------------


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
