# SPDX-License-Identifier: MIT
"""Compares convlab_ext with PyTorch, under the PyTorch of the Python that runs this
file.

    PYTHONPATH=labs/05_torch_extension another/bin/python under_other_torch.py

It needs only torch and nothing else of convlab, because versions.py runs it in another
environment. It ends with one sentence, or with an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}  # of the largest value


def difference(
    mine: Callable[..., Any], theirs: Callable[..., Any], *tensors: torch.Tensor
) -> float:
    """The largest, of output and gradients, as a share of the largest value."""
    random = torch.Generator().manual_seed(1)
    found = []
    for function in (mine, theirs):
        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        output = function(*leaves)
        random.manual_seed(1)
        grad = torch.randn(output.shape, generator=random, dtype=output.dtype)
        found.append([output.detach(), *torch.autograd.grad(output, leaves, grad)])
    return max(
        float((a - b).abs().max() / b.abs().max()) for a, b in zip(*found, strict=True)
    )


def main() -> None:
    """Forward and backward of conv2d and linear, in float and double."""
    package = importlib.import_module("convlab_ext")
    modules = importlib.import_module("convlab_ext.modules")
    options: dict[str, Any] = {"stride": (2, 1), "padding": (1, 2), "groups": 2}
    pairs: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
        "conv2d": (
            lambda *t: package.conv2d(*t, **options),
            lambda *t: functional.conv2d(*t, **options),
            ((3, 4, 9, 8), (6, 2, 3, 2), (6,)),
        ),
        "linear": (package.linear, functional.linear, ((2, 5, 7), (4, 7), (4,))),
    }
    worst = 0.0
    for name, (mine, theirs, shapes) in pairs.items():
        for dtype, allowed in TOLERANCE.items():
            random = torch.Generator().manual_seed(0)
            tensors = [torch.randn(s, generator=random, dtype=dtype) for s in shapes]
            off = difference(mine, theirs, *tensors)
            assert off < allowed, f"{name} in {dtype} is off by {off:.1e}"
            worst = max(worst, off)
    layer = modules.Conv2d(2, 3, 3)
    layer(torch.randn(1, 2, 5, 5)).sum().backward()
    assert layer.weight.grad is not None
    print(
        f"torch {torch.__version__}: conv2d and linear, forward and backward, agree "
        f"with PyTorch within {worst:.0e}"
    )


if __name__ == "__main__":
    main()
