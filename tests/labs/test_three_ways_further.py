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
RULE = """    @staticmethod
    def vmap(info, in_dims, input, weight, bias):
        input, weight, bias = (
            tensor[None] if axis is None else tensor.movedim(axis, 0)
            for tensor, axis in zip((input, weight, bias), in_dims)
        )
        return input @ weight.mT + bias[:, None], 0

"""
GENERATED = "    generate_vmap_rule = True\n\n"
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


def test_vmap_wants_a_rule_and_takes_one_written_by_hand():
    torch.manual_seed(0)
    inputs, weights, biases = drawn(5, 3, 4), drawn(5, 2, 4), drawn(5, 2)
    with pytest.raises(RuntimeError, match="vmap staticmethod"):
        torch.func.vmap(changed(LINEAR, (GENERATED, "")))(inputs, weights, biases)
    linear = changed(LINEAR, (GENERATED, RULE))
    one_by_one = torch.stack([linear(*one) for one in zip(inputs, weights, biases)])
    batched = torch.func.vmap(linear)(inputs, weights, biases)
    torch.testing.assert_close(batched, one_by_one)


def test_a_generated_rule_wants_a_sum_that_is_not_in_place():
    torch.manual_seed(0)
    input, weight, biases = drawn(3, 4), drawn(2, 4), drawn(5, 2)
    one_by_one = torch.stack([changed(LINEAR)(input, weight, one) for one in biases])
    only_bias = (None, None, 0)
    batched = torch.func.vmap(changed(LINEAR), only_bias)(input, weight, biases)
    torch.testing.assert_close(batched, one_by_one)
    in_place = changed(LINEAR, ("output = output + bias", "output += bias"))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.func.vmap(in_place, only_bias)(input, weight, biases)


def test_the_readme_s_older_form_is_not_taken_by_torch_func():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return input * input

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * ctx.saved_tensors[0] * grad_output

    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.grad(Square.apply)(torch.tensor(2.0))
