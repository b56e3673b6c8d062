# SPDX-License-Identifier: MIT
"""Lab 01's README ends with three exercises: what it says of each is tried here."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError

from tests import ROOT

MATMUL = "matmul/00_outer_products.py"
LINEAR = "linear/00_matmul.py"
JVP = """    @staticmethod
    def jvp(ctx, t_input, t_other):
        input, other = ctx.saved_tensors
        steps = []
        if t_input is not None:
            steps.append(product(t_input, other))
        if t_other is not None:
            steps.append(product(input, t_other))
        return sum(steps)

"""
SETUP = """    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

"""
BACKWARD = "    @staticmethod\n    def backward("


def changed(file: str, *changes: tuple[str, str]) -> Any:
    """The operator of a file of lab 01 in which these texts are replaced."""
    source = (ROOT / "labs/01_python_function" / file).read_text()
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    names: dict[str, Any] = {"__name__": "changed"}
    exec(compile(source, file, "exec"), names)
    return names[file.partition("/")[0]]


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


@pytest.fixture
def operands() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return drawn(3, 4), drawn(4, 2)


def test_a_detached_operand_is_seen_by_the_second_derivative_alone(operands):
    assert gradgradcheck(changed(MATMUL), operands)
    saved = "input, other = ctx.saved_tensors  # (..., M, K) (..., K, N)\n"
    detached = changed(MATMUL, (saved, f"{saved}        other = other.detach()\n"))
    assert gradcheck(detached, operands)
    with pytest.raises(GradcheckError, match="mismatch"):
        gradgradcheck(detached, operands)


def test_forward_mode_needs_jvp_and_what_it_saves(operands):
    with pytest.raises(NotImplementedError, match="jvp"):
        gradcheck(changed(MATMUL), operands, check_forward_ad=True)
    saved = "        ctx.save_for_backward(input, other)\n"
    both = saved + saved.replace("backward", "forward")
    moved = changed(MATMUL, (saved, both), (BACKWARD, JVP + BACKWARD))
    assert gradcheck(moved, operands, check_forward_ad=True)


def test_vmap_wants_setup_context_and_a_sum_that_is_not_in_place():
    torch.manual_seed(0)
    inputs, weights, biases = drawn(5, 3, 4), drawn(5, 2, 4), drawn(5, 2)
    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.vmap(changed(LINEAR))(inputs, weights, biases)
    types = "input: Tensor, weight: Tensor, bias: Tensor | None"
    split = (
        (f"def forward(ctx, {types})", f"def forward({types})"),
        ("        ctx.save_for_backward(input, weight)\n", ""),
        (BACKWARD, SETUP + BACKWARD),
    )
    linear = changed(LINEAR, *split)
    one_by_one = torch.stack([linear(*one) for one in zip(inputs, weights, biases)])
    batched = torch.func.vmap(linear)(inputs, weights, biases)
    torch.testing.assert_close(batched, one_by_one)
    only_bias = (None, None, 0)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.func.vmap(linear, only_bias)(inputs[0], weights[0], biases)
    linear = changed(LINEAR, *split, ("output += bias", "output = output + bias"))
    batched = torch.func.vmap(linear, only_bias)(inputs[0], weights[0], biases)
    one_by_one = torch.stack([linear(inputs[0], weights[0], one) for one in biases])
    torch.testing.assert_close(batched, one_by_one)
