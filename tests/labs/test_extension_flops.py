# SPDX-License-Identifier: MIT
"""PyTorch's FLOP counter counts lab 05's operators as it counts PyTorch's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import prod
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from tests import output_of
from tests.labs.extension import FOLDER, SAMPLES, Sample


@pytest.fixture(autouse=True)
def registered(extension: ModuleType) -> None:
    """The formulas are known."""
    import convlab_ext.flops  # noqa: F401


def counted(call: Callable[..., Tensor], tensors: list[Tensor]) -> list[int]:
    """Of a call, and of its backward."""
    leaves = [t.requires_grad_() for t in tensors]
    counts = []
    with FlopCounterMode(display=False) as counter:
        output = call(*leaves)
        counts.append(counter.get_total_flops())
        output.sum().backward()
        counts.append(counter.get_total_flops() - counts[0])
    return counts


def of_vectors(sample: Sample) -> bool:
    """PyTorch has no formula for a product with a vector."""
    return sample.operator == "matmul" and any(len(s) == 1 for s in sample.shapes)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.id)
def test_the_counts_are_pytorchs(sample: Sample):
    ours = counted(sample.ours(), sample.tensors())
    expected = counted(sample.torchs(), sample.tensors())
    if of_vectors(sample):
        assert expected == [0, 0]
        expected = [2 * prod(max(sample.shapes, key=prod))] * 2
        expected[1] *= 2
    if sample.operator == "depthwise_conv2d" or "groups" in sample.options:
        assert expected[1] >= 2 * expected[0]  # products between groups
        expected[1] = 2 * expected[0]
    assert ours == expected


@pytest.mark.parametrize("frozen", [0, 1])
@pytest.mark.parametrize("operator", ["matmul", "linear", "conv2d"])
def test_a_gradient_that_is_not_wanted_does_not_count(operator: str, frozen: int):
    sample = next(s for s in SAMPLES if s.operator == operator)
    tensors = sample.tensors()
    tensors[1 - frozen].requires_grad_()
    with FlopCounterMode(display=False) as counter:
        output = sample.ours()(*tensors)
        forward = counter.get_total_flops()
        output.sum().backward()
    assert counter.get_total_flops() == 2 * forward


@pytest.mark.parametrize(
    ("wanted", "products"), [(0, 9 * 4), (1, 9 * 7), (2, 0), (3, 9 * 3), (4, 0)]
)
def test_lltm_counts_the_columns_that_a_gradient_needs(wanted: int, products: int):
    sample = next(s for s in SAMPLES if s.id == "lltm-cell")
    tensors = sample.tensors()
    tensors[wanted].requires_grad_()
    output = sample.ours()(*tensors)
    with FlopCounterMode(display=False) as counter:
        output.sum().backward()
    assert counter.get_total_flops() == 2 * 5 * products


def test_points_count_by_their_pairs(extension: ModuleType):
    """Two points that are neighbours, and one alone: 5 pairs."""
    places = torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [0, 5, 5, 5]]).int()
    features, weight = torch.randn(3, 4), torch.randn(6, 4, 1, 3, 3)

    def call(features: Tensor, weight: Tensor) -> Tensor:
        return extension.subm_conv3d(features, places, weight)

    assert counted(call, [features, weight]) == [2 * 5 * 24, 2 * 2 * 5 * 24]
    counter = FlopCounterMode(display=False)
    with FakeTensorMode(allow_non_fake_inputs=True) as fake, counter:
        call(fake.from_tensor(features), fake.from_tensor(weight))
    assert counter.get_total_flops() == 2 * 9 * 3 * 24, "the most there can be"


def test_the_package_alone_does_not_import_the_counter(extension: ModuleType):
    program = (
        "import sys, convlab_ext; print('torch.utils.flop_counter' in sys.modules)"
    )
    said = output_of([sys.executable, "-c", program], cwd=FOLDER, seconds=60)
    assert said.strip() == "False"
