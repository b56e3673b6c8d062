# SPDX-License-Identifier: MIT
"""Lab 05's operators as PyTorch's dispatcher sees them: opcheck and vmap.

Autocast has tests of its own: test_extension_autocast.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.library import opcheck
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from tests.labs.extension import CORE, Sample, laid_out, with_tensors

pytestmark = pytest.mark.usefixtures("extension")
each_operator = pytest.mark.parametrize("sample", CORE, ids=lambda s: s.operator)
each_direction = pytest.mark.parametrize(
    "direction", [0, 1], ids=["forward", "backward"]
)


@pytest.mark.parametrize("layout", ["row_major", "turned", "channels_last"])
@each_direction
@each_operator
def test_opcheck_finds_nothing(sample: Sample, direction: int, layout: str):
    operator, arguments = sample.operators()[direction]
    arranged = [laid_out(a, layout) if isinstance(a, Tensor) else a for a in arguments]
    results = opcheck(operator, arranged)
    for a in arranged:
        if isinstance(a, Tensor):
            a.requires_grad_()
    results |= {
        f"{k}, with gradients": v for k, v in opcheck(operator, arranged).items()
    }
    assert set(results.values()) == {"SUCCESS"}, results


def test_opcheck_finds_nothing_without_a_bias_and_for_one_gradient(
    extension: ModuleType,
):
    ops = torch.ops.convlab
    x, weight = torch.randn(2, 3, 5, 4), torch.randn(4, 3, 3, 2)
    options = [1, 1], [0, 0], [1, 1], 1
    opcheck(ops.conv2d.default, (x, weight, None, *options))
    opcheck(ops.linear.default, (torch.randn(2, 3), torch.randn(4, 3), None))
    grad = torch.randn(2, 4, 3, 3)
    mask = [False, True, False]
    opcheck(ops.conv2d_backward.default, (grad, x, weight, *options, mask))


@pytest.fixture
def rule_of_its_own() -> Iterator[None]:
    """Without a rule torch.vmap calls an operator in a loop: here it raises."""
    functorch: Any = torch._C._functorch
    functorch._set_vmap_fallback_enabled(False)  # noqa: FBT003
    yield
    functorch._set_vmap_fallback_enabled(True)  # noqa: FBT003


def batched(tensors: list[Tensor], in_dims: tuple[int | None, ...]) -> list[Tensor]:
    """Three different tensors for each that has a batch axis, stacked there."""
    return [
        t if d is None else torch.stack([t, 2 * t, t.flip(-1)], d)
        for t, d in zip(tensors, in_dims)
    ]


@pytest.mark.usefixtures("rule_of_its_own")
@each_direction
@each_operator
def test_vmap_is_a_loop_whichever_arguments_have_a_batch(
    sample: Sample, direction: int
):
    operator, arguments = sample.operators()[direction]
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    axes = [(None, 0, tensor.dim()) for tensor in tensors]  # in front, at the end
    if len(tensors) > 5:
        axes = [(None, at) for at, tensor in zip(itertools.cycle((0, 1)), tensors)]
    for in_dims in itertools.product(*axes):
        if all(d is None for d in in_dims):
            continue
        many = batched(tensors, in_dims)

        def call(*tensors: Tensor) -> Any:
            return operator(*with_tensors(arguments, tensors))

        found = torch.vmap(call, in_dims)(*many)
        one_by_one = [
            call(*(t if d is None else t.select(d, b) for t, d in zip(many, in_dims)))
            for b in range(3)
        ]
        if isinstance(found, Tensor):
            expected: Any = torch.stack(one_by_one)
        else:
            expected = tuple(torch.stack(each) for each in zip(*one_by_one))
        torch.testing.assert_close(found, expected)


@each_direction
@each_operator
def test_vmap_over_no_examples_has_the_sizes_of_one(sample: Sample, direction: int):
    operator, arguments = sample.operators()[direction]
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    one = operator(*arguments)
    for several in ((0, *[None] * (len(tensors) - 1)), (0,) * len(tensors)):
        none = [
            t if d is None else t.new_empty(0, *t.shape)
            for t, d in zip(tensors, several)
        ]
        found = torch.vmap(
            lambda *given: operator(*with_tensors(arguments, given)), several
        )(*none)
        shapes = [(0, *result.shape) for result in in_tuple(one)]
        assert [tuple(result.shape) for result in in_tuple(found)] == shapes


def in_tuple(results: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (results,) if isinstance(results, Tensor) else tuple(results)


@pytest.mark.usefixtures("rule_of_its_own")
@each_direction
@each_operator
def test_vmap_in_vmap(sample: Sample, direction: int):
    operator, arguments = sample.operators()[direction]
    first, *others = (a for a in arguments if isinstance(a, Tensor))
    grid = torch.stack([torch.stack([first, -first]), torch.stack([3 * first, first])])

    def call(x: Tensor) -> Tensor:
        found = operator(*with_tensors(arguments, (x, *others)))
        return found if isinstance(found, Tensor) else found[0]

    found = torch.vmap(torch.vmap(call))(grid)
    expected = torch.stack([torch.stack([call(x) for x in row]) for row in grid])
    torch.testing.assert_close(found, expected)


class Twice(TorchFunctionMode):
    """Doubles what convlab's operators give, and with it their gradients."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not str(func).startswith("convlab"):
            return result
        return pytree.tree_map(lambda tensor: 2 * tensor, result)


@each_operator
def test_a_mode_sees_the_call_before_autograd(sample: Sample):
    inputs = [t.requires_grad_() for t in sample.tensors()]
    once = sample.ours()(*inputs)
    with Twice():
        twice = sample.ours()(*inputs)
    grad = torch.randn_like(once)
    for one, two in zip(*(torch.autograd.grad(y, inputs, grad) for y in (once, twice))):
        torch.testing.assert_close(two, 2 * one)


def test_a_meta_tensor_has_sizes_and_no_numbers(extension: ModuleType):
    for sample in CORE:
        tensors = [t.to("meta") for t in sample.tensors()]
        output = sample.ours()(*tensors)
        assert output.device.type == "meta"
        assert output.shape == sample.torchs()(*tensors).shape
