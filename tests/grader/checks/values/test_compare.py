# SPDX-License-Identifier: MIT
"""What counts as right: rounding passes, a lost term, digit or element does not.

The first half hands results to judge() as a worker would have left them. The second
runs small rungs with one fault each and reads the sentence a student gets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest
import torch

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import forward
from grader.checks.values.compare import (
    Expected,
    judge,
    mismatch,
    position,
    tolerance,
    wrong_elements,
)
from grader.runner.supervisor.call import Call, Output, Run
from grader.runner.supervisor.wire import SIDE_TENSORS
from grader.verdicts import Verdict

NAMES = ["input", *[""] * 7, "output", *[""] * 7]
LENGTHS = (1, 2, 7, 16, 64)


def returned(value: torch.Tensor) -> Call:
    """A call that came back with this output."""
    shape = tuple(value.shape)
    call = Call(0, Run.FORWARD, [], [Output(shape, value.dtype)])
    call.tensors[0].copy_(value)
    return call


def verdict(value: torch.Tensor, expected: Expected) -> Verdict:
    found = judge(returned(value), 0, expected, names=NAMES)
    return found.verdict if found else Verdict.PASS


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_result_in_16_bits_is_a_sum_in_float_rounded_once(dtype: torch.dtype):
    terms = torch.rand(200, 9, generator=torch.Generator().manual_seed(5)).double()
    expected = Expected("output", terms.sum(1), terms.abs().sum(1), terms=9)
    once = terms.float().sum(1).to(dtype)
    assert mismatch(once, expected) is None
    two_further = (once.view(torch.int16) + 2).view(dtype)
    assert bool(wrong_elements(two_further, expected).all())
    often = torch.zeros(200, dtype=dtype)
    for term in terms.T:
        often = often + term.to(dtype)
    assert mismatch(often, expected) is not None


# ---- numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "scale"), [(math.nan, math.inf), (math.inf, 1), (-math.inf, 1)]
)
def test_nan_and_infinity_are_wrong_nan_however_wide_the_tolerance(last, scale):
    right = torch.ones(2, dtype=torch.float64)
    got = torch.tensor([1.0, last])
    assert verdict(got, Expected("output", right, scale * right)) is Verdict.WRONG_VALUE


@pytest.mark.parametrize(
    ("right", "got", "same"),
    [
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (math.nan, math.inf, False),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (math.inf, 3e38, False),
        (math.inf, math.nan, False),
    ],
)
@pytest.mark.parametrize("scale", [1.0, math.inf, math.nan])
def test_where_the_reference_is_nan_or_infinity_the_result_is_the_same(
    right, got, same, scale
):
    value = torch.tensor([1.0, right], dtype=torch.float64)
    sizes = torch.tensor([1.0, scale], dtype=torch.float64)
    found = judge(
        returned(torch.tensor([1.0, got])),
        0,
        Expected("output", value, sizes),
        names=NAMES,
    )
    assert (found is None) == same
    assert found is None or "allowed difference" not in found.message


def test_a_product_below_the_smallest_number_is_rounded_to_it():
    """Half of it, as the sum of two products: either may be rounded up."""
    smallest = 2.0**-149
    right = torch.tensor([0.7 * smallest], dtype=torch.float64)
    expected = Expected("output", right, right, 2)
    for count, verdict_ in ((0, Verdict.PASS), (2, Verdict.PASS)):
        assert verdict(torch.tensor([count * smallest]), expected) is verdict_
    assert verdict(torch.tensor([4 * smallest]), expected) is Verdict.WRONG_VALUE


@pytest.mark.parametrize("shape", [(5,), (0, 3)])
def test_an_exact_result_passes_also_if_it_is_empty(shape):
    right = torch.randn(shape, dtype=torch.float64)
    assert verdict(right, Expected("output", right, right.abs())) is Verdict.PASS


def test_the_sentence_names_place_value_and_count():
    right = torch.zeros(2, 3, dtype=torch.float64)
    got = right.float()
    got[1, 2] = 0.5
    found = judge(returned(got), 0, Expected("output", right, right), names=NAMES)
    assert found.message.startswith("'output'[1, 2] is 0.5, expected 0; 1 of 6 ")


def test_a_wrong_gradient_gets_the_verdict_of_gradients():
    right = torch.zeros(1, dtype=torch.float64)
    wrong = Verdict.WRONG_GRADIENT
    call = returned(torch.ones(1))
    found = judge(call, 0, Expected("x", right, right), names=NAMES, wrong=wrong)
    assert found.verdict is wrong


def test_a_place_is_written_as_people_write_it():
    assert position(5, torch.Size([2, 3])) == "[1, 2]"
    assert position(0, torch.Size([])) == ""


# ---- rounding ------------------------------------------------------------------------


def products(terms: int, *, seed: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """200 sums' factors in float: (200, terms) each."""
    rng = torch.Generator().manual_seed(seed)
    shape = (200, terms)
    return torch.randn(shape, generator=rng), torch.randn(shape, generator=rng)


def expected_sum(x: torch.Tensor, w: torch.Tensor) -> Expected:
    each = x.double() * w.double()
    return Expected("output", each.sum(1), each.abs().sum(1), x.shape[1])


def float_sum(x: torch.Tensor, w: torch.Tensor, *, keep=lambda t: t) -> torch.Tensor:
    """One product after another, the sum rounded by `keep` each time."""
    total = torch.zeros(len(x))
    for k in range(x.shape[1]):
        total = keep(total + x[:, k] * w[:, k])
    return total


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Rounded to the 10 fraction bits that tensor cores keep."""
    bits = x.view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def half(x: torch.Tensor) -> torch.Tensor:
    return x.half().float()


Sum = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def of_lengths(lengths: Iterable[int], what: str, made: Sum, *more: object) -> list:
    """The parameters of a sum that is made in some way, for several lengths."""
    return [pytest.param(n, made, *more, id=f"{what}-{n}") for n in lengths]


@pytest.mark.parametrize(
    ("terms", "made", "expected"),
    [
        *of_lengths([*LENGTHS, 500], "rounding_passes", float_sum, Verdict.PASS),
        *of_lengths(
            [*LENGTHS, 500],
            "without_its_last_term",
            lambda x, w: float_sum(x[:, :-1], w[:, :-1]),
            Verdict.WRONG_VALUE,
        ),
        *of_lengths(
            LENGTHS,
            "kept_in_half",
            lambda x, w: float_sum(x, w, keep=half),
            Verdict.WRONG_VALUE,
        ),
        *of_lengths(
            LENGTHS,
            "operands_in_tf32",
            lambda x, w: float_sum(tf32(x), tf32(w)),
            Verdict.WRONG_VALUE,
        ),
        *of_lengths(
            LENGTHS,
            "float_arithmetic_in_a_double_result",
            lambda x, w: float_sum(x, w).double(),
            Verdict.WRONG_VALUE,
        ),
    ],
)
def test_rounding_of_a_float_sum_passes_and_a_lost_term_or_digit_does_not(
    terms, made, expected
):
    x, w = products(terms)
    assert verdict(made(x, w), expected_sum(x, w)) is expected


def exact_products() -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(1)
    odd = 2 * torch.randint(1024, 2048, (50, 300), generator=rng) + 1
    return odd.float(), torch.randint(-1, 2, (50, 300), generator=rng).float()


@pytest.mark.parametrize(
    ("rounded", "expected"),
    [
        pytest.param(torch.Tensor.float, Verdict.PASS, id="float_is_exact"),
        pytest.param(tf32, Verdict.WRONG_VALUE, id="tf32_is_not"),
        pytest.param(half, Verdict.WRONG_VALUE, id="half_is_not"),
    ],
)
def test_integers_catch_rounded_operands_in_long_sums(rounded, expected):
    x, w = exact_products()
    right = (x.double() * w.double()).sum(1)
    result = float_sum(rounded(x), rounded(w))
    assert verdict(result, Expected("output", right)) is expected


def test_integers_allow_no_difference_at_all():
    right = torch.tensor([4095.0], dtype=torch.float64)
    assert tolerance(Expected("output", right), torch.float32).item() == 0
    near = torch.tensor([4095.0005], dtype=torch.float32)
    assert verdict(near, Expected("output", right)) is Verdict.WRONG_VALUE


def test_row_numbers_must_be_equal():
    right = torch.tensor([3, 1, 2])
    expected = Expected("count", right)
    assert verdict(torch.tensor([3, 1, 2]), expected) is Verdict.PASS
    assert verdict(torch.tensor([3, 1, 1]), expected) is Verdict.WRONG_VALUE


def test_places_that_do_not_count_may_hold_anything():
    valid = torch.tensor([True, False])
    right = torch.tensor([1.0, 0.0], dtype=torch.float64)
    expected = Expected("output", right, right.abs(), valid=valid)
    assert verdict(torch.tensor([1.0, math.nan]), expected) is Verdict.PASS


# ---- memory, as the core in C reports it ---------------------------------------------


def test_an_element_that_was_never_written_makes_the_result_incomplete():
    call = returned(torch.zeros(2, 3))
    side = call.request.side[SIDE_TENSORS]
    side.unwritten, side.first_unwritten = 1, 4
    right = torch.zeros(2, 3, dtype=torch.float64)
    found = judge(call, 0, Expected("output", right, right), names=NAMES)
    assert found.verdict is Verdict.INCOMPLETE
    assert "1 of 6 elements of 'output'" in found.message
    assert "[1, 1]" in found.message


def test_a_write_before_the_output_is_a_memory_error_even_if_all_values_are_right():
    call = returned(torch.zeros(3))
    call.request.side[SIDE_TENSORS].fence = 8
    right = torch.zeros(3, dtype=torch.float64)
    found = judge(call, 0, Expected("output", right, right), names=NAMES)
    assert found.verdict is Verdict.MEMORY_ERROR
    assert found.message == "writes 8 bytes before the start of 'output'"


# ---- small rungs with one fault each -------------------------------------------------

PLAIN = {"name": "plain", "shapes": {"input": [4, 3]}}
STRIDED = {**PLAIN, "layout": {"input": "gaps"}}


@pytest.fixture
def forward_of(compile_gelu):
    """The forward check of one case of gelu, by the statements of the function."""

    def checked(
        body: str, *, line: dict = PLAIN, dtype: str = "f32", before: str = ""
    ) -> CheckResult:
        operator = operators.get("gelu")
        built = compile_gelu(body, before=before)
        pair = {kind: (file, file) for kind, file in built.items()}
        subject = Subject(operator, libraries=pair)
        try:
            return forward.check(subject, [operator.case(line)], dtype, 3)
        finally:
            subject.close()

    return checked


RIGHT = """for (int64_t i = 0; i < COUNT; i++) {
    const accum v = x[tensor_offset(input, input->ndim, i)];
    y[i] = (real)((accum)0.5 * v * (1 + real_erf(v * (accum)0.70710678118654752440)));
}"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("line", [PLAIN, STRIDED])
def test_a_right_rung_passes(forward_of, line, dtype):
    assert forward_of(RIGHT, line=line, dtype=dtype).verdict is Verdict.PASS


SCRATCH = """const real *s = ctx_scratch(ctx, (size_t)COUNT * sizeof(real));
    for (int64_t i = 0; i < COUNT; i++) y[i] = s[i] + x[i];"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    ("body", "line", "found", "words"),
    [
        pytest.param(
            RIGHT.replace("y[i] =", "y[i] +="),
            PLAIN,
            Verdict.WRONG_VALUE,
            "'output'[0, 0] was added to memory that was never set",
            id="an_output_that_was_not_zeroed",
        ),
        pytest.param(
            RIGHT.replace("tensor_offset(input, input->ndim, i)", "i"),
            STRIDED,
            Verdict.WRONG_VALUE,
            "between the elements of 'input': its strides are [12, 2] for sizes",
            id="ignored_strides",
        ),
        pytest.param(
            RIGHT.replace("x[tensor", "x[-1 + tensor"),
            PLAIN,
            Verdict.MEMORY_ERROR,
            "memory before the start of 'input'",
            id="a_read_before_the_start",
        ),
        pytest.param(  # a copy does no arithmetic: poison stays a signalling NaN
            "for (int64_t i = 0; i < COUNT; i++) y[i] = x[i - 1];",
            PLAIN,
            Verdict.MEMORY_ERROR,
            "memory before the start of 'input'",
            id="poison_that_is_copied_on",
        ),
        pytest.param(
            SCRATCH,
            PLAIN,
            Verdict.WRONG_VALUE,
            "scratch memory that was never written",
            id="unwritten_scratch",
        ),
        pytest.param(
            RIGHT.replace("i < COUNT", "i < COUNT - 1"),
            PLAIN,
            Verdict.INCOMPLETE,
            "1 of 12 elements of 'output' were never written, the first is [3, 2]",
            id="a_forgotten_element",
        ),
        pytest.param(
            RIGHT + "y[1] = (real)NAN;",
            PLAIN,
            Verdict.WRONG_VALUE,
            "'output'[0, 1] is nan",
            id="a_nan_of_the_students_own",
        ),
    ],
)
def test_a_fault_gets_its_verdict_its_words_and_its_case(
    forward_of, body, line, found, words, dtype
):
    result = forward_of(body, line=line, dtype=dtype)
    assert result.verdict is found
    assert words in result.message, result.message
    assert result.replay == "plain" and result.message.startswith("plain: ")
