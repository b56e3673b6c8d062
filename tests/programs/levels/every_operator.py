# SPDX-License-Identifier: MIT
"""Calls all operators of lab 05 forward and backward, and prints a hash of each.

    qemu-x86_64 -cpu Haswell-noTSX python every_operator.py

The inputs are drawn as integers, so they are the same on every processor.
"""

from __future__ import annotations

import hashlib
from typing import Any

import convlab_ext as ours
import torch
from torch import Tensor

DRAW = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> Tensor:
    """A leaf with gradient."""
    whole = torch.randint(-1000, 1000, shape, generator=DRAW)
    return (whole.double() / 777).to(torch.get_default_dtype()).requires_grad_()


def calls() -> dict[str, tuple[Any, tuple[Tensor, ...]]]:
    """Operator -> a function and its operands."""
    cell = ours.LLTM(20, 12)
    for parameter in cell.parameters():
        parameter.data = drawn(*parameter.shape).detach() / 10
    points = torch.tensor([[0, i % 5, i % 3, i % 7] for i in range(60)])
    points = points.int().unique(dim=0)
    images, filters = drawn(1, 32, 20, 20), drawn(32, 32, 3, 3)
    rows = drawn(50, 60)
    return {
        "add": (ours.add, (drawn(30, 40), drawn(40))),
        "matmul": (ours.matmul, (rows, drawn(60, 70))),
        "linear": (ours.linear, (rows, drawn(70, 60), drawn(70))),
        "unfold": (lambda a: ours.unfold(a, 3), (drawn(2, 5, 11, 12),)),
        "conv2d": (lambda *a: ours.conv2d(*a, padding=1), (images, filters)),
        "depthwise_conv2d": (ours.depthwise_conv2d, (images, drawn(32, 1, 3, 3))),
        "gelu": (ours.gelu, (drawn(999),)),
        "layer_norm": (lambda a: ours.layer_norm(a, (96,)), (drawn(33, 96),)),
        "lltm": (cell, (drawn(9, 20), drawn(9, 12), drawn(9, 12))),
        "subm_conv3d": (
            lambda f, w: ours.subm_conv3d(f, points, w),
            (drawn(len(points), 8), drawn(16, 8, 3, 3, 3)),
        ),
    }


def main() -> None:
    """A line for each operator and dtype."""
    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        for name, (function, operands) in calls().items():
            found = function(*operands)
            found = found if isinstance(found, tuple) else (found,)
            grads = torch.autograd.grad(sum(one.sum() for one in found), operands)
            made = hashlib.sha256()
            for one in (*found, *grads):
                made.update(one.detach().contiguous().numpy().tobytes())
            print(name, dtype, made.hexdigest()[:12])


if __name__ == "__main__":
    main()
