# SPDX-License-Identifier: MIT
"""The gate cuda: values and gradients of tensors on a card.

Every call has its own stream, on the last card of the machine. It starts while its
arguments are still being copied. So a kernel on another stream reads zeros, and a
kernel on another card cannot read the memory.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from grader.runner.worker.gates.bound import Bound, Broken, Job, Named

DELAY = 20_000_000  # cycles of a card, about ten milliseconds


def on_card(bound: Bound, job: Job) -> Named:
    """The output, or the gradients of the inputs job["wanted"]."""
    device = _last(job["device"])
    tensors = {name: Carried(t, device) for name, t in job["tensors"].items()}
    starts = [Carried(t, device) for t in job["grad_outputs"].values()]
    given = {name: carried.there.detach() for name, carried in tensors.items()}
    names = job["wanted"]
    for name in names:
        given[name].requires_grad_()
    with _late(device):
        for carried in (*tensors.values(), *starts):
            carried.fill()
        results = bound.call(given, job["options"])
        found = bound.named(results)
        if names:
            asked = [given[name] for name in names]
            grads = torch.autograd.grad(results, asked, [s.there for s in starts])
            found = [(f"grad_{name}", g) for name, g in zip(names, grads)]
    for name, tensor in found:
        if tensor.device != device:
            raise Broken(
                f"'{name}' is on {tensor.device}, but its arguments are on {device}"
            )
    return found


class Carried:
    """A tensor on a device, strides and all, without its numbers at first."""

    def __init__(self, tensor: torch.Tensor, device: torch.device) -> None:
        """Zeros of a memory as large as the tensor's, seen as the tensor sees it."""
        whole = torch.empty(0, dtype=tensor.dtype)
        whole.set_(tensor.untyped_storage())
        self._source = whole.to(device)
        self._memory = torch.zeros_like(self._source)
        sizes, strides = tensor.size(), tensor.stride()
        self.there = self._memory.as_strided(sizes, strides, tensor.storage_offset())

    def fill(self) -> None:
        """Its numbers, which are on the device already: nobody waits for the copy."""
        self._memory.copy_(self._source)


def _last(kind: str) -> torch.device:
    """The last device of a kind: where there are two cards, not the one that is set."""
    count = torch.cuda.device_count() if kind == "cuda" else 0
    return torch.device(kind, count - 1) if count else torch.device(kind)


@contextlib.contextmanager
def _late(device: torch.device) -> Any:
    """A stream of its own that is busy for a while; at the end it is waited for."""
    if device.type != "cuda":
        yield
        return
    torch.cuda.synchronize(device)
    with torch.cuda.device(device):
        stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(DELAY)
        with torch.cuda.device(0):  # the stream is the last card's, the first is set
            yield
    stream.synchronize()
