# SPDX-License-Identifier: MIT
"""What PyTorch says of a backward's gradients is told with the argument's name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.runner.worker.student_gradients import (
    in_words,
    line_of_cut,
    remember_shapes,
)

NAMES = ("input", "weight", "bias")


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the worker; undone afterwards."""
    node = torch.autograd.function.BackwardCFunction
    monkeypatch.setattr(node, "apply", node.apply)
    remember_shapes()


def said(returned: tuple[Any, ...], without: str = "") -> str:
    """What is said of a backward that returns this for input (2, 3), weight (3), bias
    (3) and eps.
    """

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, input: Any, weight: Any, bias: Any, eps: float) -> Any:
            return input * 1

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return returned

    shapes = {"input": (2, 3), "weight": (3,), "bias": (3,)}
    given: list[Any] = [
        None if name == without else torch.ones(shapes[name], requires_grad=True)
        for name in NAMES
    ]
    output = Norm.apply(*given, 1e-5)
    there = [tensor for tensor in given if tensor is not None]
    with pytest.raises(RuntimeError) as raised:
        torch.autograd.grad(output, there, torch.ones(2, 3), allow_unused=True)
    present = {name: tensor for name, tensor in zip(NAMES, given) if tensor is not None}
    return in_words(raised.value, [output], present)


IMAGE, ROW, NUMBER = torch.ones(2, 3), torch.ones(3), torch.ones(5)


@pytest.mark.parametrize(
    ("returned", "without", "words"),
    [
        (
            (ROW[:2], ROW, ROW, None),
            "",
            "gradient of shape [2] for 'input' of shape",
        ),
        (
            (IMAGE, NUMBER, ROW, None),
            "",
            "of shape [5] for 'weight' of shape [3]",
        ),
        ((IMAGE, None, NUMBER, None), "weight", "for 'bias' of shape [3]"),
        (
            (IMAGE, ROW, ROW, None),
            "weight",
            "for 'weight', which is not a tensor in this",
        ),
        (
            (IMAGE, ROW, ROW, NUMBER),
            "",
            "for 'eps', which is not a tensor in this call",
        ),
        ((ROW, IMAGE, ROW, None), "", "in the order of forward's arguments"),
        ((IMAGE, None, ROW, ROW), "", "in the order of forward's arguments"),
        ((ROW, IMAGE, NUMBER, None), "", "'input' must have the shape of 'input'"),
        ((ROW, IMAGE, ROW, ROW), "", "call: return None for it"),
        (
            (IMAGE, IMAGE[0, :2], ROW, None),
            "",
            "'weight' must have the shape of 'weight'",
        ),
        ((IMAGE, ROW, ROW), "", "forward takes 4 arguments (input, weight, bias, eps)"),
    ],
)
def test_a_wrong_gradient_has_the_name_of_its_argument(returned, without, words):
    found = said(returned, without)
    assert words in found and bool(words) == bool(found)
    assert ("test_student_gradients.py" in found) == bool(words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return F.apply(x.data)", ":2: return F.apply(x.data))"),
        (
            "with torch.no_grad():\n        return F.apply(x)",
            ":2: with torch.no_grad():",
        ),
        ("return F.apply(x)", ""),
    ],
)
def test_the_line_that_leaves_the_graph_is_found(tmp_path, body, words):
    file = tmp_path / "rung.py"
    file.write_text(f"def gelu(x):\n    {body}\n\n\ndef other(x):\n    return x.data\n")
    found = line_of_cut(str(file), "gelu", "Gelu")
    assert words in found and bool(words) == bool(found)
