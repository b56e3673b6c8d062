# SPDX-License-Identifier: MIT
"""Lab 05: mistakes that the numbers of a gate tell."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
import torch

from grader import operators
from grader.checks import named_mistakes as names
from grader.checks.gates import (
    call_again,
    changed_calls,
    explained,
    traits,
    where_wrong,
)
from grader.checks.gates.explained import Failed
from grader.checks.gates.jobs import Job, Jobs
from grader.runner.supervisor.gate_events import Told

SEED = 7
MARK = 1.5


def job_of(operator: str, gate: str, case: str = "") -> Job:
    """The first job of a gate, or the first one of a case."""
    return next(job for job in jobs_of(operator, gate) if job.name.startswith(case))


@functools.cache
def jobs_of(operator: str, gate: str) -> list[Job]:
    return Jobs(operators.get(operator), SEED).of(gate)


def call_of(operator: str, gate: str, job: Job) -> call_again.AgainCall:
    return call_again.of_request(operators.get(operator), gate, job.request, None)


def failed(operator: str, gate: str, job: Job, got: list[torch.Tensor]) -> Failed:
    """The call, as if the package had returned these numbers."""
    sent = [
        (Told("x", "float64", tuple(t.shape)), t.contiguous().numpy().tobytes())
        for t in got
    ]
    found = explained.failed(call_of(operator, gate, job), job, sent)
    assert found
    return found


def told(operator: str, gate: str, job: Job, got: list[torch.Tensor]):
    """The name and the sentence."""
    calls = [failed(operator, gate, job, got)]
    return explained.explanation(calls, operators.get(operator))


def right(job: Job) -> list[torch.Tensor]:
    return [one.value.clone() for one in job.expected]


# ---- the call again ------------------------------------------------------------------


@pytest.mark.parametrize("gate", ["vmap", "torch_func", "forward_ad", "gradgradcheck"])
@pytest.mark.parametrize("operator", ["add", "layer_norm", "lltm", "subm_conv3d"])
@pytest.mark.parametrize("mark", [None, MARK])
def test_the_same_call_has_the_expected_results(operator, gate, mark):
    entry = operators.get(operator)
    jobs = Jobs(entry, SEED).of(gate, mark)
    for job in (jobs[0], jobs[-1]):  # the last one of vmap is nested
        again = call_again.of_request(entry, gate, job.request, mark)
        found = again.results()
        assert len(found) == len(job.expected)
        for one, expected in zip(found, job.expected):
            torch.testing.assert_close(one, expected.value)


# ---- facts ---------------------------------------------------------------------------

LLTM = "lltm", "vmap"


def test_two_results_in_each_others_place():
    job = job_of(*LLTM)
    name, sentence = told(*LLTM, job, right(job)[::-1])
    assert name == names.RESULTS_EXCHANGED
    assert sentence.endswith("'new_c' and 'new_h' have exchanged their numbers")


def test_one_result_in_another_ones_place():
    job = job_of(*LLTM)
    new_h, new_c = right(job)
    name, sentence = told(*LLTM, job, [new_h, new_h])
    assert (name, sentence) == (
        names.RESULT_IN_OTHER_PLACE,
        "'new_c': the numbers of 'new_h' stand here",
    )


GRADIENTS = "linear", "torch_func"
WRONG = {  # what the package makes of grad_weight (B, OC, IC), and the name
    "zero": (torch.zeros_like, names.RESULT_ZERO, "every element is 0"),
    "sum": (
        lambda g: g.sum(0).expand(g.shape),
        names.EXAMPLES_SUMMED,
        "every example has the sum over all examples",
    ),
    "sum without the axis": (
        lambda g: g.sum(0),
        names.EXAMPLES_SUMMED,
        "without an axis of the examples: the sum over all examples",
    ),
    "first": (
        lambda g: g[:1].expand(g.shape),
        names.FIRST_EXAMPLE_ONLY,
        "every example has the numbers of the first example",
    ),
    "order": (
        lambda g: g[[1, 2, 0]],
        names.EXAMPLES_IN_OTHER_ORDER,
        "the examples are in the order 1, 2, 0",
    ),
    "transposed": (
        lambda g: g.mT,
        names.AXES_EXCHANGED,
        "the axes of the right result stand in the order (0, 2, 1)",
    ),
    "position": (
        lambda g: g.movedim(0, 1),
        names.BATCH_AXIS_MISPLACED,
        "the axis of the examples is at position 1, expected position 0",
    ),
    "split": (
        lambda g: g.movedim(0, 1).reshape(g.shape),
        names.JOINED_AXES_EXCHANGED,
        "Is a joined axis split in the wrong order?",
    ),
    "not split": (
        lambda g: g.flatten(0, 1),
        names.RESULT_SIZES_WRONG,
        "the numbers are right row by row, but the sizes are [15, 4], expected [3, 5",
    ),
    "sign": (
        lambda g: -g,
        names.SIGN_WRONG,
        "every element has the wrong sign",
    ),
    "factor": (
        lambda g: 3 * g,
        names.RESULT_SCALED,
        "every element is 3 times the expected number (3 is the number of examples)",
    ),
    "float": (
        lambda g: g.float().double(),
        names.DIGITS_OF_DOUBLE_LOST,
        "Does a step compute in float32",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_gradient_is_named_by_its_numbers(what):
    change, name, words = WRONG[what]
    job = job_of(*GRADIENTS, "small, in_dims={'input': 0, 'weight': 0}")
    got = right(job)
    got[1] = change(got[1])
    mistake, sentence = told(*GRADIENTS, job, got)
    assert (mistake, words in sentence) == (name, True), (mistake, sentence)
    assert sentence.startswith("'grad_weight'")


def test_a_sum_over_the_examples_in_place_of_the_rows():
    job = job_of(*GRADIENTS)
    got, start = right(job), job.request["grad_outputs"]["grad_output"]
    got[2] = start.sum(0)
    name, sentence = told(*GRADIENTS, job, got)
    assert name == names.SUMMED_OVER_OTHER_AXES
    assert "the sum of 'grad_output' over axis 0, expected over axis 1" in sentence


def test_a_tensor_that_is_added():
    job = job_of("linear", "compile", "small")
    output = right(job)[0]
    twice = output + job.request["tensors"]["bias"]
    found = told("linear", "compile", job, [twice])
    assert found
    assert "'bias'" in found[1]


@pytest.mark.parametrize("gate", ["vmap", "torch_func", "gradgradcheck", "forward_ad"])
@pytest.mark.parametrize("operator", ["matmul", "gelu", "lltm"])
def test_other_wrong_numbers_have_no_name(operator, gate):
    job = job_of(operator, gate)
    noise = torch.Generator().manual_seed(3)
    got = [
        one + torch.rand(one.shape, generator=noise, dtype=one.dtype)
        for one in right(job)
    ]
    assert told(operator, gate, job, got) is None


def test_a_marked_result_tells_no_factor_of_the_mark():
    job = job_of("gelu", "compile")
    wrong = failed("gelu", "compile", job, [1.234567 * right(job)[0]]).wrong[0]
    assert [t.name for t in traits.of(wrong)] == [names.RESULT_SCALED]
    assert list(traits.of(replace(wrong, exact=False))) == []


def test_the_ratio_of_two_numbers_is_no_factor():
    job = job_of("gelu", "compile")
    one = failed("gelu", "compile", job, [1.234567 * right(job)[0]]).wrong[0]
    short = replace(one, got=[one.mine.flatten()[:1]], right=[one.due.flatten()[:1]])
    assert list(traits.of(short)) == []


# ---- changed calls -------------------------------------------------------------------


def changed(operator: str, gate: str, job: Job, words: str) -> list[torch.Tensor]:
    """The results of the call with one change, chosen by the words of its clause."""
    call = call_of(operator, gate, job)
    changes = [
        *changed_calls.of_arguments(call, operators.get(operator)),
        *changed_calls.of_tensors(call),
    ]
    change = next(c for c in changes if words in c.trait.clause)
    found = change.results(call)
    assert found
    return found


@pytest.mark.parametrize(
    ("operator", "gate", "case", "words", "name"),
    [
        ("add", "vmap", "alpha", "alpha is 1, but it is", names.OPTION_IGNORED),
        ("add", "forward_ad", "alpha", "alpha is 1", names.OPTION_IGNORED),
        (
            "conv2d",
            "vmap",
            "small_all_options",
            "stride and dilation are exchanged",
            names.OPTIONS_EXCHANGED,
        ),
        ("linear", "vmap", "small", "'bias' is None", names.ARGUMENT_NOT_USED),
        (
            "gelu",
            "gradgradcheck",
            "",
            "'grad_output' is 1 everywhere",
            names.FACTOR_MISSING,
        ),
        (
            "matmul",
            "gradgradcheck",
            "",
            "the gradient of 'grad_other' is 0",
            names.TERM_MISSING,
        ),
        (
            "matmul",
            "forward_ad",
            "small, along input, other",
            "the tangent of 'other' has the other sign",
            names.SIGN_WRONG,
        ),
        (
            "linear",
            "vmap",
            "small, in_dims={'input': 0, 'weight': 0}",
            "the first example of 'weight'",
            names.FIRST_EXAMPLE_ONLY,
        ),
        ("lltm", "vmap", "", "'h' and 'c' are exchanged", names.TENSORS_EXCHANGED),
    ],
)
def test_a_changed_call_is_named(operator, gate, case, words, name):
    job = job_of(operator, gate, case)
    got = changed(operator, gate, job, words)
    mistake, sentence = told(operator, gate, job, got)
    assert (mistake, words in sentence) == (name, True), (mistake, sentence)


def test_a_gradient_that_uses_another_tensor():
    job = job_of("subm_conv3d", "gradgradcheck")
    words = "'features' stands in the place of the gradient of 'grad_features'"
    got = right(job)
    got[-2] = changed("subm_conv3d", "gradgradcheck", job, words)[-2]
    name, sentence = told("subm_conv3d", "gradgradcheck", job, got)
    assert name == names.OTHER_TENSOR_USED
    assert sentence == (
        "the second derivative with respect to 'weight': these numbers result if "
        "'features' stands in the place of the gradient of 'grad_features'"
    )


# ---- where ---------------------------------------------------------------------------


def test_the_wrong_calls_are_told_by_the_input_with_examples():
    jobs = jobs_of("linear", "torch_func")
    noise = torch.Generator().manual_seed(3)
    calls, found = [], []
    for job in jobs:
        calls.append(call_of(*GRADIENTS, job))
        got = right(job)
        if "bias" in job.request["in_dims"]:
            got[1] = got[1] + torch.rand(got[1].shape, generator=noise).double()
        wrong = "bias" in job.request["in_dims"]
        found.append(failed(*GRADIENTS, job, got) if wrong else None)
    assert where_wrong.sentence(calls, found) == (
        "only 'grad_weight' is wrong; the wrong calls are exactly the calls where "
        "'bias' has an axis of the examples"
    )


def test_tangents_of_saved_results_are_asked_for():
    job = job_of("layer_norm", "forward_ad")
    got = [
        one if expected.name == "tangent" else one + 1
        for one, expected in zip(right(job), job.expected)
    ]
    call = call_of("layer_norm", "forward_ad", job)
    sentence = where_wrong.sentence(
        [call], [failed("layer_norm", "forward_ad", job, got)]
    )
    assert sentence.endswith("are the tangents of 'mean' and 'rstd' right?")
