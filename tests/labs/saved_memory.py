# SPDX-License-Identifier: MIT
"""Counts what autograd keeps of a call until backward, here and in PyTorch.

    python -m tests.labs.saved_memory      writes docs/results/saved_memory.md

torch.autograd.graph.saved_tensors_hooks sees each tensor that is kept. Memory that
several of them share is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from grader import operators
from grader.course.rungs import ROOT
from tests.labs.extension import package

PAGE = ROOT / "docs" / "results" / "saved_memory.md"
HEAD = """# What autograd keeps until backward

Made by `python -m tests.labs.saved_memory`; `tests/labs/test_extension_memory.py` holds
the page against the operators. The numbers are KiB in float32, seen by
`torch.autograd.graph.saved_tensors_hooks`. A frozen tensor requires no gradient. Memory
that several tensors share is counted once. PyTorch has no `subm_conv3d`, and its `lltm`
is the formula in operators of PyTorch.

| operator | tensors | frozen | lab 05 | PyTorch |
|---|---|---|--:|--:|
"""
P = 512  # points, all of a plane


@dataclass(frozen=True)
class Call:
    """A call of a public function, and the same of PyTorch."""

    operator: str
    shapes: dict[str, tuple[int, ...]]  # of the tensors with a gradient, in order
    torchs: Callable[..., Any] | None
    ours: Callable[..., Any] | None = None  # where options stand between the tensors

    def function(self) -> Callable[..., Any]:
        """The one of convlab_ext."""
        return self.ours or getattr(package(), self.operator)


def depthwise(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """PyTorch's: a group for each channel."""
    return F.conv2d(input, weight, bias, groups=input.shape[1])


def normed(where: Any) -> Callable[..., Any]:
    """layer_norm of a module, with the shape behind the input."""

    def call(input: Tensor, weight: Tensor, bias: Tensor) -> Any:
        return where().layer_norm(input, weight.shape, weight, bias)

    return call


def at_points(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """subm_conv3d at the points of a plane."""
    rows = torch.arange(P, dtype=torch.int32)
    nought = torch.zeros_like(rows)
    places = torch.stack([nought, nought, rows // 32, rows % 32], 1)
    found: Tensor = package().subm_conv3d(features, places, weight, bias)
    return found


CALLS = (
    Call("add", {"input": (128, 256), "other": (256,)}, torch.add),
    Call("matmul", {"input": (128, 256), "other": (256, 64)}, torch.matmul),
    Call(
        "linear",
        {"input": (128, 256), "weight": (64, 256), "bias": (64,)},
        F.linear,
    ),
    Call(
        "unfold",
        {"input": (2, 16, 32, 32)},
        lambda x: F.unfold(x, 3),
        lambda x: package().unfold(x, 3),
    ),
    Call(
        "conv2d",
        {"input": (2, 16, 32, 32), "weight": (32, 16, 3, 3), "bias": (32,)},
        F.conv2d,
    ),
    Call(
        "depthwise_conv2d",
        {"input": (2, 64, 32, 32), "weight": (64, 1, 3, 3), "bias": (64,)},
        depthwise,
    ),
    Call("gelu", {"input": (128, 256)}, F.gelu),
    Call(
        "layer_norm",
        {"input": (128, 256), "weight": (256,), "bias": (256,)},
        normed(lambda: F),
        normed(package),
    ),
    Call(
        "lltm",
        {
            "input": (64, 128),
            "weight": (192, 192),
            "bias": (192,),
            "h": (64, 64),
            "c": (64, 64),
        },
        operators.get("lltm").reference,
    ),
    Call(
        "subm_conv3d",
        {"features": (P, 32), "weight": (32, 32, 1, 3, 3), "bias": (32,)},
        None,
        at_points,
    ),
)


def frozen_sets(call: Call) -> list[tuple[str, ...]]:
    """Nothing, each tensor alone, and all but one."""
    names = list(call.shapes)
    alone = [(name,) for name in names if len(names) > 1]
    others = [tuple(n for n in names if n != name) for name in names]
    return list(dict.fromkeys([(), *alone, *others]))


def kept(function: Callable[..., Any], call: Call, frozen: Sequence[str]) -> int:
    """Bytes that a call keeps until backward."""
    random = torch.Generator().manual_seed(1)
    tensors = [
        torch.randn(shape, generator=random).requires_grad_(name not in frozen)
        for name, shape in call.shapes.items()
    ]
    seen: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        results = function(*tensors)
    del results
    return sum(seen.values())


def rows() -> list[tuple[Call, tuple[str, ...], int, int | None]]:
    """Each call with what is frozen, and the bytes of lab 05 and of PyTorch."""
    return [
        (
            call,
            frozen,
            kept(call.function(), call, frozen),
            kept(call.torchs, call, frozen) if call.torchs else None,
        )
        for call in CALLS
        for frozen in frozen_sets(call)
    ]


def page() -> str:
    """The whole page."""
    lines = []
    for call, frozen, ours, torchs in rows():
        shapes = ""
        if not frozen:
            sizes = (f"{n} {'x'.join(map(str, s))}" for n, s in call.shapes.items())
            shapes = ", ".join(sizes)
        name = "" if frozen else f"`{call.operator}`"
        theirs = "-" if torchs is None else kib(torchs)
        what = ", ".join(frozen) or "nothing"
        lines.append(f"| {name} | {shapes} | {what} | {kib(ours)} | {theirs} |\n")
    return HEAD + "".join(lines)


def kib(count: int) -> str:
    """1.5 or 192."""
    return f"{count / 1024:.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
