# SPDX-License-Identifier: MIT
"""The ten Functions of lab 01 in what a gradcheck of one call does not ask: second
derivatives, torch.func and vmap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradgradcheck

from tests import ROOT

LAB = ROOT / "labs/01_python_function"
POINTS = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 1]])
EXAMPLES = 3


def operator(name: str) -> Callable[..., Any]:
    """The function of this name in lab 01."""
    (file,) = (LAB / name).glob("00_*.py")
    names: dict[str, Any] = {"__name__": name}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names[name]


@dataclass(frozen=True)
class Call:
    """One call: the shapes of the tensors that have gradients, and the options."""

    operator: str
    shapes: tuple[tuple[int, ...], ...]
    options: dict[str, Any]
    id: str

    def function(self) -> Callable[..., Any]:
        """The operator of these tensors alone."""
        call, options = operator(self.operator), self.options
        if self.operator == "subm_conv3d":
            return lambda features, *rest: call(features, POINTS, *rest, **options)
        return lambda *tensors: call(*tensors, **options)

    def tensors(self, *examples: int) -> list[Tensor]:
        """Random numbers in double, with these axes in front."""
        torch.manual_seed(0)
        shapes = [(*examples, *shape) for shape in self.shapes]
        return [torch.randn(shape, dtype=torch.double) for shape in shapes]


def call(name: str, *shapes: tuple[int, ...], id: str = "", **options: Any) -> Call:
    return Call(name, shapes, options, f"{name}_{id}" if id else name)


CALLS = (
    call("add", (3, 1), (2, 1, 4), alpha=-2.0),
    call("matmul", (2, 3, 4), (2, 4, 2)),
    call("linear", (2, 3, 4), (2, 4), (2,)),
    call("linear", (3, 4), (2, 4), id="no_bias"),
    call("unfold", (2, 2, 4, 5), kernel_size=(2, 3), padding=(1, 0), stride=(2, 1)),
    call("conv2d", (2, 4, 4, 3), (4, 2, 2, 3), (4,), groups=2, padding=1),
    call("depthwise_conv2d", (2, 2, 4, 3), (4, 1, 2, 2), (4,), stride=(2, 1)),
    call("layer_norm", (2, 3, 4), (4,), (4,)),
    call("layer_norm", (3, 4), id="no_weight"),
    call("subm_conv3d", (4, 2), (3, 2, 3, 1, 3), (3,)),
    call("lltm", (2, 3), (6, 5), (6,), (2, 2), (2, 2)),
    call("gelu", (3, 4)),
    call("gelu", (3, 4), id="tanh", approximate="tanh"),
)
each_call = pytest.mark.parametrize("asked", CALLS, ids=[one.id for one in CALLS])


def number(results: Tensor | tuple[Tensor, ...]) -> Tensor:
    """One number that depends on each element of the results in its own way."""
    several = results if isinstance(results, tuple) else (results,)
    weights = [torch.arange(1.0, one.numel() + 1).cos() for one in several]
    return sum(
        (one.sin() * weight.reshape(one.shape)).sum()
        for one, weight in zip(several, weights, strict=True)
    )


def test_every_operator_of_the_lab_is_asked() -> None:
    assert {one.operator for one in CALLS} == {
        file.parent.name for file in LAB.glob("*/00_*.py") if file.parent.name[0] != "b"
    }


@each_call
def test_second_derivatives_are_right(asked: Call) -> None:
    tensors = [tensor.requires_grad_() for tensor in asked.tensors()]
    assert gradgradcheck(asked.function(), tensors)


@each_call
def test_torch_func_gives_the_gradients_of_autograd(asked: Call) -> None:
    function, tensors = asked.function(), asked.tensors()
    every = tuple(range(len(tensors)))
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    right = torch.autograd.grad(number(function(*leaves)), leaves)
    found = torch.func.grad(lambda *given: number(function(*given)), every)(*tensors)
    torch.testing.assert_close(found, right)


@each_call
def test_vmap_is_a_loop_over_the_examples(asked: Call) -> None:
    function, batched = asked.function(), asked.tensors(EXAMPLES)
    found = torch.func.vmap(function)(*batched)
    right = [function(*one) for one in zip(*batched, strict=True)]
    torch.testing.assert_close(found, stacked(right))


@each_call
def test_vmap_takes_one_tensor_of_examples_among_others(asked: Call) -> None:
    """Also of the gradients: each tensor in turn is the one that has examples."""
    function, single = asked.function(), asked.tensors()
    every = tuple(range(len(single)))
    gradients = torch.func.grad(lambda *given: number(function(*given)), every)
    for k in every:
        calls = [list(single) for _ in range(EXAMPLES)]
        for number_of_example, given in enumerate(calls):
            given[k] = single[k] + number_of_example
        batched = [*single]
        batched[k] = torch.stack([given[k] for given in calls])
        in_dims = tuple(0 if i == k else None for i in every)
        for wanted in (function, gradients):
            found = torch.func.vmap(wanted, in_dims)(*batched)
            torch.testing.assert_close(found, stacked([wanted(*g) for g in calls]))


def stacked(results: list[Any]) -> Any:
    """The results of several calls, as vmap returns them."""
    if isinstance(results[0], tuple):
        return tuple(torch.stack(parts) for parts in zip(*results, strict=True))
    return torch.stack(results)
