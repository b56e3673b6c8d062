# SPDX-License-Identifier: MIT
"""convlab_ext.direct: without Winograd, infinities and NaN are where PyTorch's are."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from grader.course.rungs import ROOT
from tests import PROGRAMS, output_of
from tests.labs.extension import FOLDER, LAB, UNEVEN

VALUES = (float("inf"), float("-inf"), float("nan"))
LAYERS = {  # sizes of input and weight, options
    "winograd_4x4": ((2, 64, 16, 18), (64, 64, 3, 3), {"padding": 1}),
    "winograd_5x5": ((2, 32, 12, 13), (48, 32, 5, 5), {"padding": 2}),
    "few_channels": ((2, 3, 17, 18), (16, 3, 7, 7), {"padding": 3, "stride": 2}),
    "pointwise": ((2, 32, 12, 13), (48, 32, 1, 1), {}),
    "groups": ((2, 32, 12, 13), (64, 8, 3, 3), {"groups": 4, **UNEVEN}),
}
PLACES = ((1, 2, 7, 9), (0, 0, 0, 0))  # inside, and at a corner
each_value = pytest.mark.parametrize("value", VALUES)
each_place = pytest.mark.parametrize("place", PLACES)
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@pytest.fixture(autouse=True)
def ours(extension: ModuleType) -> ModuleType:
    """Lab 05's package."""
    return extension


def drawn(layer: str, dtype: torch.dtype) -> tuple[Tensor, Tensor, dict]:
    """Input, weight and options of a layer."""
    random = torch.Generator().manual_seed(3)
    *sizes, options = LAYERS[layer]
    tensors = [torch.randn(s, generator=random, dtype=dtype) for s in sizes]
    return (*(t.requires_grad_() for t in tensors), options)


def with_one(tensor: Tensor, place: tuple[int, ...], value: float) -> Tensor:
    """The same numbers but one."""
    changed = tensor.detach().clone()
    changed[tuple(min(i, n - 1) for i, n in zip(place, tensor.shape))] = value
    return changed.requires_grad_(tensor.requires_grad)


def kinds(tensor: Tensor) -> Tensor:
    """0 for a finite number, 1 for inf, 2 for -inf, 3 for NaN."""
    return tensor.isposinf() + 2 * tensor.isneginf() + 3 * tensor.isnan()


def same_kinds(mine: Tensor, theirs: Tensor) -> bool:
    """Whether both are finite, infinite and no numbers in the same places."""
    return torch.equal(kinds(mine), kinds(theirs))


@each_dtype
@each_place
@each_value
@pytest.mark.parametrize("layer", LAYERS)
def test_what_an_input_spreads_is_what_it_spreads_in_pytorch(
    layer, value, place, dtype, ours
):
    input, weight, options = drawn(layer, dtype)
    input = with_one(input, place, value)
    expected = F.conv2d(input, weight, **options)
    grad = torch.ones_like(expected)
    with ours.direct():
        found = ours.conv2d(input, weight, **options)
        (mine,) = torch.autograd.grad(found, weight, grad)
    (theirs,) = torch.autograd.grad(expected, weight, grad)
    assert not expected.isfinite().all() and expected.isfinite().any()
    assert same_kinds(found, expected)
    assert same_kinds(mine, theirs)


@each_dtype
@each_place
@each_value
@pytest.mark.parametrize("layer", LAYERS)
def test_what_a_gradient_spreads_is_what_it_spreads_in_pytorch(
    layer, value, place, dtype, ours
):
    input, weight, options = drawn(layer, dtype)
    expected = F.conv2d(input, weight, **options)
    grad = with_one(torch.ones_like(expected), place, value)
    with ours.direct():
        found = ours.conv2d(input, weight, **options)
        (mine,) = torch.autograd.grad(found, input, grad)
    (theirs,) = torch.autograd.grad(expected, input, grad)
    assert not theirs.isfinite().all() and theirs.isfinite().any()
    assert same_kinds(mine, theirs)


@each_value
@pytest.mark.parametrize("layer", ["winograd_4x4", "winograd_5x5"])
def test_what_a_weight_spreads_without_padding_is_what_it_spreads_in_pytorch(
    layer, value, ours
):
    input, weight, _ = drawn(layer, torch.float32)
    weight = with_one(weight, PLACES[0], value)
    with ours.direct():
        found = ours.conv2d(input, weight)
    assert same_kinds(found, F.conv2d(input, weight))


def test_winograd_spreads_one_infinity_over_its_tiles(ours):
    """The reason for the switch: if this fails, nothing needs it any more."""
    input, weight, options = drawn("winograd_4x4", torch.float32)
    input = with_one(input, PLACES[0], float("inf"))
    expected = F.conv2d(input, weight, **options)
    found = ours.conv2d(input, weight, **options)
    assert expected.isinf().sum() == 9 * 64 and not expected.isnan().any()
    assert found.isnan().sum() > 9 * 64


# ---- the switch ----------------------------------------------------------------------


def served(ours: ModuleType) -> Tensor:
    """Numbers that show which rung has served."""
    input, weight, options = drawn("winograd_4x4", torch.float32)
    with torch.no_grad():
        return ours.conv2d(input, weight, **options)


def test_the_block_ends_the_switch_and_may_stand_in_another_one(ours):
    usual = served(ours)
    with ours.direct():
        direct = served(ours)
        assert not torch.equal(usual, direct)
        with ours.direct(on=False):
            assert torch.equal(served(ours), usual)
        with ours.direct():
            pass
        assert torch.equal(served(ours), direct)
    assert torch.equal(served(ours), usual)
    with pytest.raises(KeyError), ours.direct():
        raise KeyError
    assert torch.equal(served(ours), usual)


def test_a_compiled_function_obeys_the_switch_around_its_call(ours):
    torch._dynamo.reset()
    input, weight, options = drawn("winograd_4x4", torch.float32)
    compiled = torch.compile(
        lambda: ours.conv2d(input, weight, **options), backend="aot_eager"
    )
    usual = compiled()
    with ours.direct():
        assert torch.equal(compiled(), served(ours))
    assert torch.equal(compiled(), usual)
    assert not torch.equal(usual, F.conv2d(input, weight, **options))


SAYS = "import convlab_ext, sys; print(sys.modules['convlab_ext.direct'].switch())"


@pytest.mark.parametrize(("word", "on"), [("1", True), ("0", False), ("", False)])
def test_the_environment_turns_the_switch(word, on):
    environment = {**os.environ, "CONVLAB_DIRECT": word, "PYTHONPATH": str(FOLDER)}
    command = [sys.executable, "-c", SAYS]
    assert output_of(command, env=environment, seconds=120) == f"{on}\n"


def test_another_word_in_the_environment_is_told(ours, monkeypatch):
    monkeypatch.setenv("CONVLAB_DIRECT", "yes")
    module = sys.modules["convlab_ext.direct"]
    with pytest.raises(ValueError, match="CONVLAB_DIRECT is 'yes', expected 1"):
        module.from_environment()


def test_a_build_without_a_second_set_says_so(tmp_path):
    program = tmp_path / "direct"
    command = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{LAB / 'csrc'}", f"-I{ROOT / 'common'}"]
    source = PROGRAMS / "extension" / "direct.cpp"
    output_of([*command, source, "-o", program], seconds=120)
    said = output_of([program], seconds=60)
    assert said == (
        "conv2d_forward: this build has no second set of kernels. Name their rung in "
        "lab.toml, kernels.direct, and build again: make build LAB=05\n"
        "ok\n"
    )
