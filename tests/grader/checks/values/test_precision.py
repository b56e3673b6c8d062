# SPDX-License-Identifier: MIT
"""The classes tf32 and winograd: what explains an error lets it pass, and no more.

Results are handed to judge() as a worker would have left them. A test says which class
a result has; in a grading lab.toml does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from grader import operators
from grader.checks.values import precision
from grader.checks.values.compare import Expected, tolerance
from grader.course.rungs import DIRECT, HALF, TF32, WINOGRAD
from grader.operators import Case
from grader.verdicts import Verdict
from tests.grader.checks.values.test_compare import (
    LENGTHS,
    exact_products,
    float_sum,
    of_lengths,
    products,
    tf32,
    verdict,
)

Rounded = Callable[[torch.Tensor], torch.Tensor]


def expected_in(
    kind: str, x: torch.Tensor, w: torch.Tensor, *, values: str = "normal"
) -> Expected:
    """What the sums of these products should hold, if computed in this class."""
    subject = SimpleNamespace(numerics_of=lambda _: kind)
    each = x.double() * w.double()
    right = each.sum(1), each.abs().sum(1)
    return precision.expected(
        subject, Case("sums", values=values), "output", *right, x.shape[1]
    )


def to_even(x: torch.Tensor) -> torch.Tensor:
    """TF32 by the other rule: ties to the even neighbour."""
    bits = x.view(torch.int32)
    odd = bits >> 13 & 1
    return ((bits + 0xFFF + odd) & ~0x1FFF).view(torch.float32)


def cut(x: torch.Tensor) -> torch.Tensor:
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


def bfloat16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def of_factors(
    what: str, rounded: Rounded, kind: str, lengths: Iterable[int], found: Verdict
) -> list:
    """Parameters: sums of factors that were rounded so, expected in a class."""
    return of_lengths(
        lengths, what, lambda x, w: float_sum(rounded(x), rounded(w)), kind, found
    )


@pytest.mark.parametrize(
    ("terms", "made", "kind", "found"),
    [
        *of_factors("tf32", tf32, TF32, [*LENGTHS, 500], Verdict.PASS),
        *of_factors("ties_to_even", to_even, TF32, [*LENGTHS, 500], Verdict.PASS),
        *of_factors("where_direct", tf32, DIRECT, LENGTHS, Verdict.WRONG_VALUE),
        *of_factors("bfloat16", bfloat16, TF32, LENGTHS, Verdict.WRONG_VALUE),
        *of_factors("cut_off", cut, TF32, [1, 2, 7], Verdict.WRONG_VALUE),
        *of_lengths(
            LENGTHS,
            "without_its_last_term",
            lambda x, w: float_sum(tf32(x[:, :-1]), tf32(w[:, :-1])),
            TF32,
            Verdict.WRONG_VALUE,
        ),
        *of_lengths(
            LENGTHS,
            "in_double",
            lambda x, w: float_sum(x, w).double(),
            TF32,
            Verdict.WRONG_VALUE,
        ),
    ],
)
def test_factors_rounded_to_tf32_pass_and_no_worse_ones(terms, made, kind, found):
    x, w = products(terms)
    assert verdict(made(x, w), expected_in(kind, x, w)) is found


@pytest.mark.parametrize("terms", [1, 300])
def test_the_worst_factors_pass_and_hardly_more_does(terms):
    worst = torch.full((1, terms), 1 + 2.0**-11)  # the tie next to 1: off by 2^-11
    result = float_sum(tf32(worst), tf32(worst))
    expected = expected_in(TF32, worst, worst)
    assert verdict(result, expected) is Verdict.PASS
    further = expected.value + 1.02 * (result.double() - expected.value)
    assert verdict(further.float(), expected) is Verdict.WRONG_VALUE


def test_the_class_half_loosens_no_result_in_float():
    x, w = products(300)
    strict = expected_in(DIRECT, x, w)
    off = strict.value + 3 * tolerance(strict, torch.float32)
    assert verdict(off.float(), expected_in(HALF, x, w)) is Verdict.WRONG_VALUE
    assert verdict(off.float(), expected_in(WINOGRAD, x, w)) is Verdict.PASS


# ---- integers ------------------------------------------------------------------------


def test_integers_of_12_bits_are_rounded_by_tf32():
    x, w = exact_products()
    result = float_sum(tf32(x), tf32(w))
    of_tf32 = expected_in(TF32, x, w, values="integers")
    of_direct = expected_in(DIRECT, x, w, values="integers")
    assert verdict(result, of_tf32) is Verdict.PASS
    assert verdict(result, of_direct) is Verdict.WRONG_VALUE


def short_products() -> tuple[torch.Tensor, torch.Tensor]:
    """Odd integers of 11 bits, against -1, 0, 1."""
    x, w = exact_products()
    half = (x - 1) / 2  # 1024 to 2047
    return half + 1 - half % 2, w


def test_integers_of_11_bits_have_to_be_equal():
    x, w = short_products()
    expected = expected_in(TF32, x, w, values="short_integers")
    result = float_sum(tf32(x), tf32(w))
    assert bool((x % 2 == 1).all())
    assert verdict(result, expected) is Verdict.PASS
    assert verdict(result + 1, expected) is Verdict.WRONG_VALUE
    rounded = float_sum(bfloat16(x), bfloat16(w))
    assert verdict(rounded, expected) is Verdict.WRONG_VALUE


# ---- double --------------------------------------------------------------------------


def test_integers_are_exact_in_double():
    x, w = exact_products()
    expected = expected_in(TF32, x, w, values="integers")
    assert verdict(expected.value, expected) is Verdict.PASS
    assert verdict(expected.value + 1e-9, expected) is Verdict.WRONG_VALUE


def test_the_bound_of_a_term_is_added_to_that_of_its_sum():
    one = torch.ones(1, dtype=torch.float64)
    direct = tolerance(Expected("output", one, one, 64), torch.float32)
    rounded = Expected("output", one, one, 64, rounded=precision.TERM)
    allowed = precision.TERM + (1 + precision.TERM) * direct
    assert torch.allclose(tolerance(rounded, torch.float32), allowed, rtol=1e-15)


# ---- winograd ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "right"), [(WINOGRAD, Verdict.PASS), (DIRECT, Verdict.WRONG_VALUE)]
)
def test_a_tile_meets_more_of_a_kernel_than_an_image_of_one_pixel_does(kind, right):
    conv2d = operators.get("conv2d")
    (case,) = [c for c in conv2d.cases(1) if c.name == "one_pixel"]
    weight = torch.ones(1, 1, 3, 3, dtype=torch.float64)
    weight[0, 0, 1, 1] = 1e-4  # all that the pixel meets
    one = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    inputs = {"input": 2 * one, "weight": weight, "bias": 0 * one.flatten()}
    truth = conv2d.truth(inputs, case, [3 * one])
    assert [truth.beyond(name) for name in ("output", "grad_input")] == [2, 3]
    subject = SimpleNamespace(numerics_of=lambda _: kind)
    sizes = truth.output_scale[0], 10, truth.beyond
    expected = precision.expected(subject, case, "output", truth.outputs[0], *sizes)
    assert verdict(truth.outputs[0] + 1e-15, expected) is right


def test_sums_beyond_the_borders_are_no_smaller_than_those_inside():
    conv2d = operators.get("conv2d")
    for case in (c for c in conv2d.cases(3) if not c.is_strange):
        inputs = conv2d.inputs(case, torch.float64, 3)
        inputs.pop("bias", None)
        results = conv2d.outputs(inputs, case)
        grads = conv2d.grad_outputs(case, results, torch.float64, 3)
        truth = conv2d.truth(inputs, replace(case, wanted=("input",)), grads)
        inside = truth.output_scale[0], truth.gradient_scale[0]
        for name, scale in zip(("output", "grad_input"), inside):
            if scale.numel():
                assert truth.beyond(name) >= float(scale.max()) * 0.999999, case.name
