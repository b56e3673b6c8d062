# SPDX-License-Identifier: MIT
"""Lab 05's fake kernels: the sizes of a right call, and a refusal of a wrong one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, export
from torch.utils import _pytree as pytree

from grader import operators
from grader.checks.gates.jobs import Jobs
from grader.operators import refused_calls
from grader.runner.worker.gates import bound
from tests.labs.extension import CORE, SAMPLES, Sample

pytestmark = pytest.mark.usefixtures("extension")


def ones(*shape: int) -> Tensor:
    return torch.ones(shape)


IMAGE, FILTERS = ones(2, 4, 5, 6), ones(6, 4, 3, 2)
PLAIN = [1, 1], [0, 0], [1, 1]  # stride, padding, dilation
DENSE = [1, 1], [0, 0], [1, 1]  # unfold's dilation, padding, stride
PLACES, CUBES = torch.arange(8).int().reshape(2, 4), ones(6, 4, 3, 3, 3)
WRONG: list[tuple[str, tuple[Any, ...]]] = [
    ("add", (ones(2, 3, 4), ones(3, 1, 3), 1.0)),
    ("matmul", (ones(4), ones(4, 5))),
    ("matmul", (ones(2, 3, 4), ones(4, 5))),
    ("matmul", (ones(3, 4), ones(4, 5).to("meta"))),
    ("linear", (ones(), ones(5, 4), None)),
    ("linear", (ones(2, 4), ones(4), None)),
    ("unfold", (IMAGE, [3, 2, 1], *DENSE)),
    ("unfold", (IMAGE, [3, 2], [3, 1], [0, 0], [1, 1])),
    ("conv2d", (ones(2, 4, 0, 6), FILTERS, None, *PLAIN, 1)),
    ("conv2d", (IMAGE, ones(5, 2, 3, 2), None, *PLAIN, 2)),
    ("conv2d", (IMAGE, FILTERS, None, *PLAIN, 2)),
    ("conv2d", (IMAGE, FILTERS, None, [1, 1], [0], [1, 1], 1)),
    ("depthwise_conv2d", (IMAGE, ones(8, 2, 3, 2), None, *PLAIN)),
    ("depthwise_conv2d", (IMAGE, ones(6, 1, 3, 2), None, *PLAIN)),
    ("depthwise_conv2d", (ones(2, 0, 5, 6), ones(4, 1, 3, 2), None, *PLAIN)),
    ("lltm", (ones(2, 4), ones(9, 7), ones(9), ones(3), ones(2, 3))),
    ("lltm", (ones(2, 4), ones(9, 7), ones(9, 1), ones(2, 3), ones(2, 3))),
    ("gelu", (IMAGE, "")),
    ("subm_conv3d", (ones(2, 4), PLACES, ones(6, 4, 3, 3, 2), None, [1, 1, 1])),
    ("subm_conv3d", (ones(2, 4), PLACES[:, :3], CUBES, None, [1, 1, 1])),
    ("subm_conv3d", (ones(2, 4), PLACES.long(), CUBES, None, [1, 1, 1])),
    ("subm_conv3d", (ones(2, 4), PLACES, CUBES, None, [1, 0, 1])),
    ("layer_norm", (ones(2, 4), [2, 4], None, None, 1e-5)),
    ("layer_norm", (ones(2, 4), [2], None, None, 1e-5)),
    ("layer_norm", (ones(2, 4), [4], None, ones(1, 4), 1e-5)),
    ("layer_norm", (ones(2, 4), [4], ones(4), ones(4), 0.0)),
    ("gelu_backward", (IMAGE, FILTERS, "tanh")),
    ("gelu_backward", (IMAGE, IMAGE, "erf")),
]


def faked(operator: Any, arguments: Any) -> Any:
    """The operator's answer to tensors without data."""
    with FakeTensorMode() as mode:
        return operator(*pytree.tree_map_only(Tensor, mode.from_tensor, arguments))


def refused(operator: Any, arguments: Any) -> None:
    """With data and without."""
    for call in (lambda: operator(*arguments), lambda: faked(operator, arguments)):
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            call()


@pytest.mark.parametrize(("name", "arguments"), WRONG)
def test_a_wrong_call_is_refused(name: str, arguments: tuple[Any, ...]):
    refused(getattr(torch.ops.convlab, name).default, arguments)


@pytest.mark.parametrize("name", refused_calls.GOOD)
def test_what_pytorch_refuses_is_refused(extension: ModuleType, name: str):
    ours = bound.Bound(extension, name)
    for job in Jobs(operators.get(name), 7).of("errors"):
        refused(ours.operator(), ours.arguments(ours.operator(), job.request))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.id)
def test_a_right_call_has_the_right_sizes(sample: Sample):
    tensors = sample.tensors()
    assert faked(sample.ours(), tensors).shape == sample.torchs()(*tensors).shape


@pytest.mark.parametrize("sample", CORE, ids=lambda s: s.operator)
def test_so_has_a_right_call_of_the_backward_operator(sample: Sample):
    operator, arguments = sample.operators()[1]
    found, expected = faked(operator, arguments), operator(*arguments)
    assert pytree.tree_map(lambda t: t.shape, found) == pytree.tree_map(
        lambda t: t.shape, expected
    )


def test_compile_and_export_refuse_before_anything_runs(extension: ModuleType):
    class Layer(torch.nn.Module):
        def forward(self, x: Tensor, weight: Tensor) -> Tensor:
            return extension.conv2d(x, weight, stride=2) * 2

    wrong, words = (
        ones(6, 3, 3, 2),
        "'weight' expects 3 channels in each of 1 groups, 'input' has 4",
    )
    with pytest.raises(RuntimeError, match=words):
        torch.compile(Layer(), backend="eager")(IMAGE, wrong)
    with pytest.raises(RuntimeError, match=words):
        export(Layer(), (IMAGE, wrong))


def test_a_size_that_is_a_symbol_stays_one(extension: ModuleType):
    class Layer(torch.nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            columns = extension.unfold(extension.conv2d(x, FILTERS, padding=1), 2)
            return extension.add(extension.matmul(y, columns), ones(1))

    N, H = Dim("N", min=1, max=9), Dim("H", min=3, max=90)
    given = ones(2, 4, 7, 6), ones(2, 3, 24)
    program = export(Layer(), given, dynamic_shapes=({0: N, 2: H}, {0: N})).module()
    other = ones(5, 4, 9, 6), ones(5, 3, 24)
    torch.testing.assert_close(program(*other), Layer()(*other))
