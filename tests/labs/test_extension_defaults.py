# SPDX-License-Identifier: MIT
"""The schemas of lab 05's operators have PyTorch's defaults: short calls do the same.

PyTorch leaves out arguments at the end that are the defaults, also where it calls a
rule. A schema has tags as soon as the stable ABI of the oldest PyTorch takes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.library import Library, opcheck

from tests.labs.extension import LAB

pytestmark = pytest.mark.usefixtures("extension")
LINE = torch.tensor([[0, 0, 0, i] for i in range(4)]).int()  # four points


def dense(features: Tensor, weight: Tensor) -> Tensor:
    """subm_conv3d of LINE as a convolution of a line."""
    maps = F.conv3d(features.T[None, :, None, None], weight, padding=(0, 0, 1))
    return maps[0, :, 0, 0].T


@dataclass(frozen=True)
class Short:
    """A call of an operator without what has a default, and PyTorch's call."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    torchs: Callable[..., Tensor]
    between: tuple[Any, ...] = field(default=())  # behind the first tensor

    def tensors(self) -> list[Tensor]:
        """Random ones."""
        random = torch.Generator().manual_seed(5)
        make = torch.randn
        return [make(s, generator=random, dtype=torch.float64) for s in self.shapes]

    def arguments(self, first: Tensor, *others: Tensor) -> tuple[Any, ...]:
        """Of the operator, all tensors on the device of the first."""
        between = (
            one.to(first.device) if isinstance(one, Tensor) else one
            for one in self.between
        )
        return (first, *between, *others)

    def call(self, *tensors: Tensor) -> Tensor:
        """The first result."""
        found = getattr(torch.ops.convlab, self.name)(*self.arguments(*tensors))
        return found if isinstance(found, Tensor) else found[0]


CALLS = [
    Short("add", ((3, 4), (4,)), torch.add),
    Short("linear", ((3, 4), (5, 4)), F.linear),
    Short("unfold", ((2, 3, 5, 4),), lambda x: F.unfold(x, (2, 3)), ([2, 3],)),
    Short("conv2d", ((2, 3, 6, 5), (4, 3, 3, 2)), F.conv2d),
    Short(
        "depthwise_conv2d",
        ((2, 3, 6, 5), (6, 1, 3, 2)),
        lambda x, weight: F.conv2d(x, weight, groups=3),
    ),
    Short("gelu", ((3, 4),), F.gelu),
    Short("layer_norm", ((3, 4),), lambda x: F.layer_norm(x, [4]), ([4],)),
    Short("subm_conv3d", ((4, 2), (3, 2, 1, 1, 3)), dense, (LINE,)),
]
each_call = pytest.mark.parametrize("short", CALLS, ids=lambda short: short.name)


def gradients(call: Callable[..., Tensor], tensors: list[Tensor]) -> list[Tensor]:
    """The result and the gradients of all tensors."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    output = call(*leaves)
    return [output, *torch.autograd.grad(output.sin().sum(), leaves)]


@each_call
def test_a_short_call_is_pytorchs(short: Short):
    tensors = short.tensors()
    found, expected = (gradients(c, tensors) for c in (short.call, short.torchs))
    torch.testing.assert_close(found, expected)
    meta = short.call(*(tensor.to("meta") for tensor in tensors))
    assert meta.shape == expected[0].shape


@each_call
def test_a_rule_gets_all_arguments_of_a_short_call(short: Short):
    tensors = short.tensors()
    first, *others = tensors
    many = torch.stack([first, -first])
    in_dims = (0, *[None] * len(others))
    expected = torch.stack([short.torchs(one, *others) for one in many])
    torch.testing.assert_close(torch.vmap(short.call, in_dims)(many, *others), expected)
    torch._dynamo.reset()
    compiled = torch.compile(short.call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(
        gradients(compiled, tensors), gradients(short.torchs, tensors)
    )
    operator = getattr(torch.ops.convlab, short.name).default
    leaves = [tensor.requires_grad_() for tensor in tensors]
    opcheck(operator, short.arguments(*leaves))


@pytest.mark.parametrize("name", ["conv2d", "linear", "gelu", "layer_norm"])
def test_the_defaults_are_those_of_pytorchs_schema(name: str):
    def defaults(space: Any) -> dict[str, Any]:
        schema = getattr(space, name).default._schema
        return {
            a.name: a.default_value for a in schema.arguments if a.has_default_value()
        }

    ours, theirs = defaults(torch.ops.convlab), defaults(torch.ops.aten)
    assert ours
    assert ours == {name: theirs[name] for name in ours}


# ---- tags ----------------------------------------------------------------------------


def test_operators_have_tags_if_the_oldest_pytorch_takes_them(extension: ModuleType):
    """From 2.12 on; README.md says that there are none."""
    found = re.search(r'TARGET = "(0x\w+)"', (LAB / "setup.py").read_text())
    assert found
    major_and_minor = divmod(int(found[1], 16) >> 48, 1 << 8)
    for name in extension.OPERATORS:
        tags = getattr(torch.ops.convlab, name).default.tags
        assert bool(tags) == (major_and_minor >= (2, 12)), name


def test_python_cannot_add_tags_to_a_schema_of_c():
    schema = "gelu(Tensor input, str approximate='none') -> Tensor"
    with pytest.raises(RuntimeError, match="multiple times"):
        Library("convlab", "FRAGMENT").define(schema, tags=(torch.Tag.pointwise,))
