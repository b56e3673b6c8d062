# SPDX-License-Identifier: MIT
"""Autograd keeps of a call of lab 05 what backward needs, and no more than PyTorch."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import pytest
import torch

from tests.labs import saved_memory
from tests.labs.saved_memory import CALLS, Call

pytestmark = pytest.mark.usefixtures("extension")
each_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.operator)


def test_the_page_about_memory_is_the_present_one():
    written = saved_memory.PAGE.read_text(encoding="utf-8")
    assert written == saved_memory.page(), "python -m tests.labs.saved_memory"


@each_call
def test_no_more_is_kept_than_pytorch_keeps(call: Call):
    for frozen in saved_memory.frozen_sets(call) if call.torchs else []:
        ours = saved_memory.kept(call.function(), call, frozen)
        assert ours <= saved_memory.kept(call.torchs, call, frozen), frozen


NEEDED = {  # of the tensors of a call, by those that are not frozen
    ("matmul", "input"): {"other"},
    ("linear", "weight"): {"input"},
    ("linear", "bias"): set(),
    ("conv2d", "input"): {"weight"},
    ("depthwise_conv2d", "weight"): {"input"},
    ("layer_norm", "input"): {"input", "weight"},
    ("layer_norm", "weight"): {"input"},
    ("layer_norm", "bias"): set(),
    ("lltm", "input"): {"weight"},
    ("lltm", "weight"): {"input", "h"},
    ("lltm", "bias"): set(),
    ("lltm", "h"): {"weight"},
    ("lltm", "c"): set(),
    ("subm_conv3d", "features"): {"weight"},
    ("subm_conv3d", "weight"): {"features"},
    ("subm_conv3d", "bias"): set(),
    ("gelu", "input"): {"input"},
    ("add", "input"): set(),
    ("unfold", "input"): set(),
}


@pytest.mark.parametrize(("operator", "wanted"), NEEDED)
def test_the_memory_of_a_tensor_that_backward_does_not_need_is_free(
    operator: str, wanted: str
):
    """Nothing else holds it either, such as what forward mode would need."""
    (call,) = (one for one in CALLS if one.operator == operator)
    alive, results = called(call, [name for name in call.shapes if name != wanted])
    assert {name for name, one in alive.items() if one() is not None} == NEEDED[
        operator, wanted
    ]
    assert results


def called(call: Call, frozen: Sequence[str]) -> tuple[dict[str, weakref.ref], object]:
    """References to the tensors of a call, and its results."""
    tensors = [
        torch.ones(shape).requires_grad_(name not in frozen) * 2
        for name, shape in call.shapes.items()
    ]
    alive = {name: weakref.ref(one) for name, one in zip(call.shapes, tensors)}
    return alive, (call.function()(*tensors),)


@each_call
def test_gradients_are_the_same_whatever_is_frozen(call: Call):
    random = torch.Generator().manual_seed(2)
    given = {n: torch.randn(s, generator=random) for n, s in call.shapes.items()}

    def gradients(frozen: Sequence[str]) -> dict[str, torch.Tensor]:
        leaves = {
            n: t.clone().requires_grad_(n not in frozen) for n, t in given.items()
        }
        results = call.function()(*leaves.values())
        results = results if isinstance(results, tuple) else (results,)
        sum(result.sin().sum() for result in results).backward()
        return {n: t.grad for n, t in leaves.items() if t.grad is not None}

    whole = gradients(())
    assert set(whole) == set(given)
    for frozen in saved_memory.frozen_sets(call):
        found = gradients(frozen)
        assert set(found) == set(given) - set(frozen)
        torch.testing.assert_close(found, {n: whole[n] for n in found})
