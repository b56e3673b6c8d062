# SPDX-License-Identifier: MIT
"""The networks of make bench NET= for tests: small images, and few channels if asked.

The folder of lab 05 has to be on sys.path, and convlab_ext has to be built.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

NAMES = ("resnet18", "mobilenet", "unet")
FEW: dict[str, dict[str, Any]] = {  # constants of nets/*.py
    "resnet18": {"CLASSES": 5, "WIDTHS": (4, 8)},
    "mobilenet": {"CLASSES": 5, "FIRST": 4, "LAST": 8, "STAGES": ((2, 4, 1, 1),)},
    "unet": {"WIDTHS": (4, 8)},
}


@contextmanager
def few() -> Iterator[None]:
    """Networks that are made now have few channels and few blocks."""
    before = {}
    for name, constants in FEW.items():
        module = importlib.import_module(f"nets.{name}")
        before[name] = {constant: getattr(module, constant) for constant in constants}
        vars(module).update(constants)
    yield
    for name, constants in before.items():
        vars(importlib.import_module(f"nets.{name}")).update(constants)


def ours(name: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    """A network of lab 05's layers."""
    return _drawn(name, "lab05").to(dtype)


def torchs(name: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    """The same of PyTorch's layers, with the same weights."""
    return _drawn(name, "pytorch").to(dtype)


def _drawn(name: str, make: str) -> nn.Module:
    nets, layers = map(importlib.import_module, ("nets", "train.layers"))
    made: nn.Module = nets.drawn(name, layers.MAKES[make](), 7)
    return made


def images(count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random ones (N, 3, 32, 32), the same in each call."""
    random = torch.Generator().manual_seed(3)
    return torch.randn(count, 3, 32, 32, generator=random).to(dtype)


def score(answers: Tensor) -> Tensor:
    """A loss of a network's answers: all of them should be class 1."""
    right = torch.ones(answers.shape[0], *answers.shape[2:], dtype=torch.long)
    return cross_entropy(answers, right)


def gradients(network: nn.Module, loss: Tensor) -> list[Tensor]:
    """Of all parameters."""
    return list(torch.autograd.grad(loss, list(network.parameters())))
