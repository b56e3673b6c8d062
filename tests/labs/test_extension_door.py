# SPDX-License-Identifier: MIT
"""Lab 05's door for tensors without data says what common/check.c says of others."""

from __future__ import annotations

from collections.abc import Callable
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

pytestmark = pytest.mark.usefixtures("extension")
BOTH, ALL = [True, True], [True, True, True]
PLAIN = [1, 1], [0, 0], [1, 1]  # stride, padding, dilation


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape, dtype=dtype)


IMAGE, FILTERS = ones(2, 4, 5, 6), ones(6, 4, 3, 2)
DOUBLE = ones(2, 6, 3, 5, dtype=torch.float64)
DENSE = (
    [3, 2],
    [1, 1],
    [0, 0],
    [1, 1],
)  # unfold's kernel_size, dilation, padding, stride
WRONG: list[tuple[str, tuple[Any, ...]]] = [
    ("add", (ones(2, dtype=torch.int32), ones(2), 1.0)),
    ("add", (ones(2), ones(2, dtype=torch.int64), 1.0)),
    ("add", (ones(2, 3, 4), ones(3, 1, 4), 1.0)),
    ("add_backward", (ones(2, 4), [2, 4], [3, 4], 1.0, BOTH)),
    ("add_backward", (ones(2, 4), [2, 1], [1, 1], 1.0, BOTH)),
    ("add_backward", (ones(2, 4), [9], [3, 4], 1.0, [False, True])),
    ("matmul", (ones(4), ones(4, 5))),
    ("matmul", (ones(2, 3, 4), ones(4, 5))),
    ("matmul", (ones(2, 3, 4), ones(2, 4))),
    ("matmul_backward", (ones(3, 4), ones(3, 5), ones(5, 5), BOTH)),
    ("matmul_backward", (ones(3, 4), ones(3, 5), ones(4, 4), BOTH)),
    ("linear", (ones(), ones(5, 4), None)),
    ("linear", (ones(2, 4), ones(4), None)),
    ("linear_backward", (ones(3, 5), ones(2, 4), ones(5, 4), ALL)),
    ("linear_backward", (ones(2, 5), ones(2, 4), ones(5, 3), ALL)),
    ("unfold", (ones(2, 0, 5, 6), *DENSE)),
    ("unfold", (IMAGE, [3, 2], [1, 1], [0, 0], [1, 2**21])),
    ("unfold", (IMAGE, [3, 2, 1], *DENSE[1:])),
    ("unfold", (IMAGE, [3, 2], [3, 1], [0, 0], [1, 1])),
    ("unfold_backward", (ones(2, 24, 14), [5, 6], *DENSE)),
    ("unfold_backward", (ones(2, 25, 15), [5, 6], *DENSE)),
    ("unfold_backward", (ones(2, 3, 15), [5, 6], *DENSE)),
    ("unfold_backward", (ones(2, 24, 15), [5, 6, 7], *DENSE)),
    ("unfold_backward", (ones(24, 15), [5, 6], *DENSE)),
    ("conv2d", (ones(2, 4, 0, 6), FILTERS, None, *PLAIN, 1)),
    ("conv2d", (IMAGE, ones(6, 0, 3, 2), None, *PLAIN, 1)),
    ("conv2d", (IMAGE, ones(5, 2, 3, 2), None, *PLAIN, 2)),
    ("conv2d", (IMAGE, ones(6, 4, 3, 2), None, *PLAIN, 2)),
    ("conv2d", (IMAGE, FILTERS, None, [1, 1], [0], [1, 1], 1)),
    ("conv2d", (IMAGE, FILTERS, None, [1, 1], [0, 2**20 + 1], [1, 1], 1)),
    ("conv2d_backward", (ones(2, 6, 3, 4), IMAGE, FILTERS, *PLAIN, 1, ALL)),
    ("conv2d_backward", (ones(2, 6, 3), IMAGE, FILTERS, *PLAIN, 1, ALL)),
    ("conv2d_backward", (DOUBLE, IMAGE, FILTERS, *PLAIN, 1, ALL)),
    ("conv2d_backward", (ones(2, 6, 3, 5), IMAGE, FILTERS, *PLAIN, 0, ALL)),
]
GOOD = {
    "add": (ones(2, 1), ones(3), 2.0),
    "matmul": (ones(2, 3, 4), ones(2, 4, 5)),
    "linear": (ones(0, 4), ones(5, 4), None),
    "unfold": (IMAGE, *DENSE),
    "conv2d": (IMAGE, FILTERS, ones(6), *PLAIN, 1),
}


def faked(operator: Any, arguments: Any) -> Any:
    """The operator's answer to tensors without data."""
    with FakeTensorMode() as mode:
        return operator(*pytree.tree_map_only(Tensor, mode.from_tensor, arguments))


def refusal(call: Callable[..., Any], *arguments: Any) -> str:
    """The sentence a call raises."""
    with pytest.raises(RuntimeError) as raised:
        call(*arguments)
    return str(raised.value)


def same(operator: Any, arguments: Any) -> None:
    """With data and without, the sentence is the same."""
    real = refusal(operator, *arguments)
    fake = refusal(faked, operator, arguments)
    assert fake in (real, f"{operator._schema.name[9:].split('_')[0]}: {real}")


@pytest.mark.parametrize(("name", "arguments"), WRONG)
def test_a_call_that_the_kernel_refuses_is_refused_without_data(
    name: str, arguments: tuple[Any, ...]
):
    same(getattr(torch.ops.convlab, name).default, arguments)


@pytest.mark.parametrize("name", refused_calls.GOOD)
def test_what_pytorch_refuses_is_refused_without_data(extension: ModuleType, name: str):
    ours = bound.Bound(extension, name)
    for job in Jobs(operators.get(name), 7).of("errors"):
        if job.name != "tensors of booleans":  # bridge.h does not know whose they are
            same(ours.operator(), ours.arguments(ours.operator(), job.request))


@pytest.mark.parametrize("name", GOOD)
def test_a_right_call_is_let_in(name: str):
    operator = getattr(torch.ops.convlab, name).default
    assert faked(operator, GOOD[name]).shape == operator(*GOOD[name]).shape


@pytest.mark.parametrize("name", GOOD)
def test_what_the_bridge_says_of_no_tensor_by_name_is_named(name: str):
    operator = getattr(torch.ops.convlab, name).default
    first, *others = GOOD[name]
    said = refusal(faked, operator, (first.bool(), *others))
    assert said == f"{name}: 'input' is bool, expected f16, bf16, f32 or f64"
    said = refusal(faked, operator, (ones(1, 1, 1, 1, 1, 1, 2), *others))
    assert said == f"{name}: 'input' has 7 axes, expected 0 to 6"
    if isinstance(others[0], Tensor):
        said = refusal(operator, first.to("meta"), *others)
        assert "is on cpu, 'input' on meta, expected one device" in said


def test_compile_and_export_say_it_before_anything_runs(extension: ModuleType):
    class Layer(torch.nn.Module):
        def forward(self, x: Tensor, weight: Tensor) -> Tensor:
            return extension.conv2d(x, weight, stride=2) * 2

    wrong, words = ones(6, 3, 3, 2), r"conv2d: 'weight' expects 3 input channels"
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
    axes = {0: N, 2: H}, {0: N}
    program = export(Layer(), given, dynamic_shapes=axes).module()
    other = ones(5, 4, 9, 6), ones(5, 3, 24)
    torch.testing.assert_close(program(*other), Layer()(*other))
