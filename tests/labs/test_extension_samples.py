# SPDX-License-Identifier: MIT
"""Every call that PyTorch's own tests make of an operator, lab 05 answers as well.

The calls are all samples in float32 and float64 and some in other dtypes; the page has
the answers to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tests.labs.sample_answers import EQUAL, REFUSED, WRONG, Answer, answer
from tests.labs.sample_calls import IN_TORCH, MODULES, OTHERS, OURS, TAKEN, Call
from tests.labs.sample_inputs import PAGE, kind_of, of_module, of_operator

ROWS = {
    row.split(" | ")[0].removeprefix("| "): row.strip("| \n").split(" | ")[1:]
    for row in PAGE.read_text(encoding="utf-8").splitlines()
    if row.startswith("| ")
}


def right(answers: list[Answer]) -> None:
    """None is wrong, and the page has each refusal."""
    wrong = [f"{one.call}: {one.sentence}" for one in answers if one.kind == WRONG]
    assert not wrong, "\n".join(wrong)
    for one in answers:
        if one.kind == REFUSED:
            assert kind_of(one.sentence) in ROWS, "python -m tests.labs.sample_inputs"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operator", (*IN_TORCH, *OURS))
def test_a_sample_of_pytorch_gives_the_same_or_is_refused_with_a_sentence(
    extension: ModuleType, operator: str
):
    found = [answer(one) for one in of_operator(operator)]
    right(found)
    equal = sum(one.kind == EQUAL for one in found)
    assert equal == int(ROWS[operator][1]) or operator == "add"
    assert equal >= 2 * 3  # in two dtypes
    refused = sum(one.kind == REFUSED for one in found)
    assert refused >= 2 * len(OTHERS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_so_does_a_sample_of_a_module(extension: ModuleType, name: str):
    found = [answer(one) for one in of_module(name)]
    right(found)
    kinds = [one.kind for one in found]
    assert [len(found), kinds.count(EQUAL), kinds.count(REFUSED)] == [
        int(number) for number in ROWS[name][:3]
    ]


def test_nothing_on_the_page_is_wrong():
    for name in (*IN_TORCH, *OURS, *MODULES):
        calls, equal, refused, _, wrong = map(int, ROWS[name])
        assert (calls, wrong) == (equal + refused, 0), name


# ---- what makes an answer wrong ------------------------------------------------------


def curved(input: Tensor, other: Tensor) -> Tensor:
    """The right sum, with a wrong second derivative."""
    return input + other + (input - input.detach()) ** 2


def raising(sentence: str) -> Callable[..., Tensor]:
    def call(*arguments: Tensor) -> Tensor:
        raise RuntimeError(sentence)

    return call


def only_with_numbers(input: Tensor, other: Tensor) -> Tensor:
    if type(input) is Tensor:
        raise RuntimeError("add: 'input' is float32 on cpu, expected nothing")
    return input + other


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (lambda input, other: input + other * 1.001, "not close"),
        (lambda input, other: input + other + 0 * input.detach() ** 2 * other, ""),
        (lambda input, other: input + other.detach(), "not close"),
        (curved, "not close"),
        (lambda input, other: (input + other).half(), "do not match"),
        (raising("out of luck"), "does not name the operator"),
        (raising("add: a tensor is wrong"), "names no argument"),
        (
            raising("add: 'input': could not run 'aten::add'"),
            "internal words",
        ),
        (only_with_numbers, "fake tensors are accepted"),
    ],
)
def test_the_judge_sees_what_is_wrong(
    extension: ModuleType, ours: Callable[..., Tensor], said: str
):
    operands = [torch.rand(2, 3, requires_grad=True) for _ in range(2)]
    found = answer(Call("add", "add", ours, torch.add, tuple(operands)))
    assert found.kind == (WRONG if said else EQUAL)
    assert said in found.sentence
    assert TAKEN[0] == operands[0].dtype
