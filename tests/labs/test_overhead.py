# SPDX-License-Identifier: MIT
"""What a call of lab 05 does besides its kernel, and that the ways compared are right.

overhead.py measures how long it takes; here nothing is timed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from tests import ROOT
from tests.labs import overhead
from tests.labs.extension import CORE, Sample

pytestmark = pytest.mark.usefixtures("extension")
each_operator = pytest.mark.parametrize("sample", CORE, ids=lambda s: s.operator)
RULES = {"kernel", "forward", "setup_context"}


def entered(call: Callable[[], Any]) -> set[str]:
    """The functions of convlab_ext that a call goes through."""
    names = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if (
            event == "call"
            and Path(frame.f_code.co_filename).parts[-2] == "convlab_ext"
        ):
            names.add(frame.f_code.co_name)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


@each_operator
def test_a_call_that_records_nothing_enters_no_rule(sample: Sample) -> None:
    tensors, ours = sample.tensors(), sample.ours()
    assert not entered(lambda: ours(*tensors)) & RULES
    leaves = [tensor.requires_grad_() for tensor in tensors]
    with torch.no_grad():
        assert not entered(lambda: ours(*leaves)) & RULES
    assert {"forward", "setup_context"} <= entered(lambda: ours(*leaves))


class Box:
    """Not a tensor, but it has one inside that requires a gradient."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        inside = [a.tensor if isinstance(a, Box) else a for a in args]
        return func(*inside, **(kwargs or {}))


def test_what_is_inside_of_an_argument_keeps_its_gradient(extension: ModuleType):
    x = torch.randn(2, 3, requires_grad=True)
    box: Any = Box(x)
    rules = sys.modules[f"{extension.__name__}._rules"]
    rules.convlab.gelu(box, "none").sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0


@each_operator
def test_inference_mode_makes_inference_tensors(sample: Sample):
    expected = sample.ours()(*sample.tensors())
    leaves = [tensor.requires_grad_() for tensor in sample.tensors()]
    with torch.inference_mode():
        output = sample.ours()(*leaves)
    assert output.is_inference()
    torch.testing.assert_close(output, expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", overhead.CASES)
def test_the_ways_compared_give_the_same(
    name: str, extension: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(overhead, "loaded", lambda _: extension)
    call = overhead.Call(name, recorded=False)
    results = {way: first(work()) for way, work in call.ways().items()}
    for output in results.values():
        torch.testing.assert_close(output, results["PyTorch"])
    call = overhead.Call(name, recorded=True)
    gradients = {way: work() for way, work in call.recording(backward=True).items()}
    for found in gradients.values():
        torch.testing.assert_close(found, gradients["PyTorch"])


def first(results: Any) -> Tensor:
    """The output, of an operator that has several results."""
    found: Tensor = results if isinstance(results, Tensor) else results[0]
    return found


def test_the_page_has_a_row_for_each_operator_in_its_three_tables() -> None:
    page = (ROOT / "docs" / "results" / "overhead.md").read_text()
    assert [page.count(f"\n| {name} |") for name in overhead.CASES] == [3] * 5
