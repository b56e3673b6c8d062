# SPDX-License-Identifier: MIT
"""What is said of a wrong answer without a name is true of every case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader import operators
from grader.checks.values.compare import wrong_elements
from grader.checks.values.forward import expectations
from grader.diagnosis.match import Trial, name_it
from grader.diagnosis.mistakes import known_mistakes
from grader.diagnosis.mistakes.mistake import Setting
from grader.diagnosis.symptoms import describe, read_as_contiguous
from grader.diagnosis.telling_cases import extra_cases
from grader.verdicts import Verdict

SEED = 5
MOST = 3000  # elements of a case
T = torch.Tensor
Student = Callable[[T, Mapping[str, T], Mapping[str, Any]], T]


def trials_of(operator: str, student: Student) -> list[Trial]:
    """All small cases of an operator in double, as if a student had computed them, but
    cases of extreme numbers. `student` makes the wrong output of the right one, the
    inputs and the options.
    """
    entry = operators.get(operator)
    subject: Any = SimpleNamespace(operator=entry, numerics_of=lambda _: "direct")
    made = []
    for case in [*extra_cases(entry), *entry.cases(SEED, drawn=3)]:
        if case.is_extreme or entry.elements(case) > MOST:
            continue
        inputs = entry.inputs(case, torch.float64, SEED)
        truth = entry.truth(inputs, case, [])
        right = expectations(subject, case, inputs, truth)[0]
        options = entry.signature.resolve(case.options)
        got = student(right.value, inputs, options)
        setting = Setting(entry, inputs, options, (), {right.name: right.value})
        trial = Trial(case, setting, {right.name: got}, empty=setting.empty)
        scale = right.value.abs() if right.scale is None else right.scale
        trial.size[right.name] = float(scale.max()) if scale.numel() else 0.0
        trial.terms[right.name] = right.terms
        wrong = wrong_elements(got, right)
        if bool(wrong.any()):
            trial.wrong[right.name] = wrong
        made.append(trial)
    return made


def said(operator: str, student: Student) -> str:
    """What is said of it."""
    return describe(trials_of(operator, student)) or ""


def odd(t: T) -> T:
    """1 for every second number, 0 for the others."""
    return torch.arange(t.numel(), dtype=torch.float64).reshape(t.shape) % 2


def where(test: Callable[[Mapping[str, T], Mapping[str, Any]], bool]) -> Student:
    """Twice the right output, and one more, in the cases that pass a test."""
    return lambda y, x, o: 2 * y + odd(y) if test(x, o) else y


def padded(_: Mapping[str, T], options: Mapping[str, Any]) -> bool:
    """Whether a convolution has any padding."""
    return any(p > 0 for p in options["padding"])


def seldom(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
    """Cut off far from 0, as a gelu that is x itself from there on."""
    return torch.where(x["input"] > 2, y * (1 + 1e-9), y)


TRUE = {  # what has to be said
    "padding": (
        "conv2d",
        where(padded),
        "wrong exactly in the cases where padding > 0",
    ),
    "bias": (
        "conv2d",
        where(lambda x, o: "bias" in x),
        "wrong exactly in the cases where there is a bias (",
    ),
    "shapes": (
        "add",
        where(lambda x, o: x["input"].shape != x["other"].shape),
        "where shapes differ (broadcasting)",
    ),
    "float": ("gelu", lambda y, x, o: y.float().double(), "use float somewhere"),
    "zero": ("gelu", lambda y, x, o: 0 * y, "every wrong element is 0"),
    "twice": ("gelu", lambda y, x, o: 2 * y, "is 2 times the right one"),
    "less": ("gelu", lambda y, x, o: y - 3e-6, "is 3e-06 less than the right one"),
    "first": (
        "matmul",
        lambda y, x, o: torch.cat([y[..., :1, :], 2 * y[..., 1:, :] + 1], dim=-2),
        "'output' is wrong exactly where m > 0",
    ),
    "smallest": (
        "layer_norm",
        where(lambda x, o: o["eps"] == 0.1 and x["input"].shape[-1] == 5),
        "the smallest case that fails has 'input' of shape [6, 5], 'weight' of shape "
        "[5], 'bias' of shape [5] and eps 0.1: 'output'[0, 0] is ",
    ),
}
FALSE = {  # what must not be
    "clipped": ("gelu", seldom, "float"),
    "two sizes": ("gelu", lambda y, x, o: y - 2e-8 - 2e-6 * odd(y), "every wrong"),
    "nearly 0": ("gelu", lambda y, x, o: -1e-7 * y * (1 + odd(y)), "times"),
    "square": (
        "matmul",
        where(lambda x, o: x["input"].shape != x["other"].shape),
        "broadcasting",
    ),
    "one case": ("conv2d", where(lambda x, o: x["input"].shape[0] == 4), "where"),
    "not in all": (
        "conv2d",
        where(lambda x, o: padded(x, o) and o["groups"] == 1),
        "exactly in the cases where padding",
    ),
    "third row": (
        "matmul",
        lambda y, x, o: y + torch.eye(max(y.shape[-2], 3))[2, : y.shape[-2], None],
        "the others",
    ),
}


@pytest.mark.parametrize(("operator", "student", "words"), TRUE.values(), ids=TRUE)
def test_what_is_true_is_said(operator: str, student: Student, words: str) -> None:
    assert words in said(operator, student)


@pytest.mark.parametrize(("operator", "student", "words"), FALSE.values(), ids=FALSE)
def test_what_is_false_is_not(operator: str, student: Student, words: str) -> None:
    text = said(operator, student)
    assert text and words not in text


@pytest.mark.parametrize(
    ("eps", "name"), [(1e-5, "eps_constant"), (0.0, "eps_forgotten"), (0.02, None)]
)
def test_a_constant_in_place_of_eps_has_a_name(eps: float, name: str | None) -> None:
    def constant(y: T, x: Mapping[str, T], _: Mapping[str, Any]) -> T:
        t, weight, bias = x["input"], x.get("weight"), x.get("bias")
        return torch.nn.functional.layer_norm(t, t.shape[-1:], weight, bias, eps)

    named = name_it(known_mistakes("layer_norm"), trials_of("layer_norm", constant))
    assert [mistake.name for _, mistake in named] == ([name] if name else [])


@pytest.mark.parametrize(("wrong_views", "said"), [(1, False), (2, True), (4, True)])
def test_one_wrong_view_of_many_is_not_read_as_contiguous(
    wrong_views: int, said: bool
) -> None:
    """Of four views of 'input': one may be wrong for another reason."""
    past = SimpleNamespace(
        verdict=Verdict.MEMORY_ERROR, message="reads right past the end of 'input'"
    )

    def trial(*, view: bool, wrong: bool) -> Any:
        tensor = torch.zeros(3, 2).t() if view else torch.zeros(2, 3)
        setting: Any = SimpleNamespace(inputs={"input": tensor}, grads=(), results=())
        got = None if wrong else {}
        return Trial(None, setting, got, finding=past if wrong else None)  # type: ignore

    trials = [trial(view=False, wrong=False)]
    trials += [trial(view=True, wrong=i < wrong_views) for i in range(4)]
    assert bool(read_as_contiguous(trials)) is said
