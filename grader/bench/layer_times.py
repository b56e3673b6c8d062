# SPDX-License-Identifier: MIT
"""Measures where the time of a network goes: seconds of each layer and direction.

There are hooks around the forward of every module without children. There are also
hooks around each node of the graph that this forward makes. The time of a node belongs
to backward. The rest of a step belongs to no layer: sums and joins between layers, the
loss, the optimizer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.checks.speed.timing import Stopwatch

KINDS = {  # a module's class -> what it is, for all that are no convolutions
    "BatchNorm2d": "batch norm",
    "ReLU": "relu",
    "ReLU6": "relu",
    "MaxPool2d": "pooling",
    "AdaptiveAvgPool2d": "pooling",
    "Linear": "linear",
    "Upsample": "upsampling",
}


@dataclass(frozen=True)
class Layer:
    """Layers of one kind and size count as one."""

    kind: str  # conv 3x3, batch norm
    sizes: str  # 64 -> 128 at 56x56


def layer_of(module: torch.nn.Module, input: Tensor) -> Layer:
    """What a module is, with this input."""
    at = "x".join(map(str, input.shape[2:]))
    if isinstance(module, torch.nn.Conv2d):
        depthwise = 1 < module.in_channels == module.groups
        name = "depthwise " if depthwise else "conv "
        name += "x".join(map(str, module.kernel_size))
        if module.stride != (1, 1):
            name += f", stride {module.stride[0]}"
        return Layer(name, f"{module.in_channels} -> {module.out_channels} at {at}")
    name = type(module).__name__
    for base in type(module).__mro__:
        name = base.__name__ if base.__name__ in KINDS else name
    sizes = str(input.shape[1]) + (f" at {at}" if at else "")
    return Layer(KINDS.get(name, name), sizes)


class Watch:
    """Adds up the seconds of each layer while it stands around a network."""

    def __init__(self) -> None:
        self.seconds: dict[Layer, float] = defaultdict(float)
        self.now = Stopwatch().now

    def take(self) -> dict[Layer, float]:
        """What was added up since the last time."""
        found, self.seconds = dict(self.seconds), defaultdict(float)
        return found

    @contextmanager
    def around(self, network: torch.nn.Module) -> Iterator[None]:
        """Hooks, while the block runs."""
        handles = []
        for module in network.modules():
            if not any(module.children()):
                handles.append(module.register_forward_pre_hook(self._begin))
                handles.append(module.register_forward_hook(self._end))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _begin(self, module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._since = self.now()

    def _end(
        self, module: torch.nn.Module, inputs: tuple[Tensor, ...], output: Tensor
    ) -> None:
        spent = self.now() - self._since
        layer = layer_of(module, inputs[0])
        self.seconds[layer] += spent
        for node in _nodes(output.grad_fn, inputs[0].grad_fn):
            begin, end = self._pair(layer)
            node.register_prehook(begin)
            node.register_hook(end)

    def _pair(self, layer: Layer) -> tuple[Callable[..., None], Callable[..., None]]:
        """What runs before and behind a node."""
        since = 0.0

        def begin(*_: Any) -> None:
            nonlocal since
            since = self.now()

        def end(*_: Any) -> None:
            self.seconds[layer] += self.now() - since

        return begin, end


def _nodes(last: Any, before: Any) -> Iterator[Any]:
    """The nodes of a module: from its output's back to its input's."""
    waiting, seen = [last], {before, None}
    while waiting:
        node = waiting.pop()
        if node in seen or "AccumulateGrad" in node.name():
            continue
        seen.add(node)
        yield node
        waiting += [one for one, _ in node.next_functions]
