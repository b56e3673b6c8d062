# SPDX-License-Identifier: MIT
"""The case files and their layouts: every line can be used, and means what it says."""

from __future__ import annotations

import functools
import itertools
import tomllib
from decimal import Decimal
from fractions import Fraction

import pytest
import torch
from signatures import SIGNATURES

from grader import operators
from grader.operators import Case, Truth
from grader.operators.case import CaseError
from grader.operators.entry import CASES, Operator, Tensors
from grader.operators.layouts import lay_out

LAYOUTS = (
    "contiguous",
    "transposed",
    "reversed",
    "channels_last",
    "gaps",
    "broadcast",
    "broadcast_second",
    "broadcast_last",
    "scalar",
)
SEED = 3
ROW_MAJOR = torch.contiguous_format

every_operator = pytest.mark.parametrize("name", SIGNATURES)


@functools.cache
def cases_of(name: str) -> list[tuple[Operator, Case]]:
    operator = operators.get(name)
    return [(operator, case) for case in operator.cases(SEED)]


@functools.cache
def solved(name: str) -> list[tuple[Case, Tensors, Truth]]:
    """Every case with its inputs in double and the right answers."""
    made = []
    for operator, case in cases_of(name):
        inputs = operator.inputs(case, torch.float64, SEED)
        outputs = operator.outputs(inputs, case)
        grads = operator.grad_outputs(case, outputs, torch.float64, SEED)
        made.append((case, inputs, operator.truth(inputs, case, grads)))
    return made


# ---- cases -------------------------------------------------------------------------


@every_operator
def test_case_names_are_unique_words_that_make_can_take(name):
    names = [case.name for _, case in cases_of(name)]
    assert len(names) == len(set(names))
    assert all(word.replace("_", "").isalnum() for word in names)


@every_operator
def test_a_case_names_only_what_its_operator_has(name):
    """Layouts are of its tensors, what is wanted or left out may be so, every size is
    used by a shape.
    """
    signature = SIGNATURES[name]
    words = " ".join(a.shape for a in signature.inputs) + " N"
    optional = {a.name for a in signature.inputs if a.optional}
    names = {a.name for a in signature.inputs}
    names |= {f"grad_{a.name}" for a in signature.outputs}
    names |= {a.name for a in (*signature.outputs, *signature.saved)}
    for _, case in cases_of(name):
        assert set(case.layout) <= names, case.name
        assert set(case.layout.values()) <= set(LAYOUTS), case.name
        assert set(case.wanted or ()) <= set(signature.gradients), case.name
        assert set(case.without) <= optional, case.name
        assert all(size in words for size in case.sizes), (case.name, case.sizes)


@every_operator
def test_inputs_have_the_shapes_and_dtypes_of_the_signature(name):
    for operator, case in cases_of(name):
        inputs = operator.inputs(case, torch.float32, SEED)
        shapes = operator.input_shapes(case)
        for argument in operator.signature.inputs:
            if argument.name in case.without:
                assert argument.name not in inputs
                continue
            tensor = inputs[argument.name]
            kind = torch.int32 if argument.dtype == "i32" else torch.float32
            assert (tuple(tensor.shape), tensor.dtype) == (shapes[argument.name], kind)


@every_operator
def test_truth_is_finite_and_has_the_gradients_that_are_wanted(name):
    for case, _, truth in solved(name):
        found = [*truth.outputs, *(g for g in truth.gradients if g is not None)]
        finite = [bool(torch.isfinite(t).all()) for t in found]
        assert all(finite) != case.is_strange, case.name
        given = [gradient is not None for gradient in truth.gradients]
        assert given == operators.get(name).wanted(case), case.name


@every_operator
def test_scale_is_at_least_the_value_and_only_integers_are_without(name):
    """A bound on rounding that is smaller than the number itself bounds nothing."""
    for case, _, truth in solved(name):
        pairs = [*zip(truth.outputs, truth.output_scale)]
        pairs += [*zip(truth.gradients, truth.gradient_scale)]
        pairs += [(s[0], scale) for s, scale in zip(truth.saved, truth.saved_scale)]
        for value, scale in pairs:
            if value is not None and scale is not None:
                assert value.shape == scale.shape, case.name
                finite = value.isfinite()
                bounded = value.abs() <= scale * (1 + 1e-9)
                assert bool(bounded[finite].all()), case.name
                assert bool(scale[finite].isfinite().all()), case.name
            elif value is not None:
                assert not value.is_floating_point(), case.name


@every_operator
def test_a_number_that_is_exactly_zero_has_room_for_rounding(name):
    """A derivative of |x| is 0 there: no scale may come from one. Random numbers are
    zero once in a few million, so that right code would be wrong once in a while.
    """
    operator = operators.get(name)
    for case, inputs, _ in solved(name)[:8]:
        with_zeros = {
            key: t.clone(memory_format=ROW_MAJOR) for key, t in inputs.items()
        }
        for tensor in with_zeros.values():
            if tensor.is_floating_point() and tensor.numel():
                tensor.view(-1)[::3] = 0
        outputs = operator.outputs(with_zeros, case)
        grads = operator.grad_outputs(case, outputs, torch.float64, SEED)
        truth = operator.truth(with_zeros, case, grads)
        pairs = [*zip(truth.outputs, truth.output_scale)]
        pairs += [*zip(truth.gradients, truth.gradient_scale)]
        for value, scale in pairs:
            if value is not None and scale is not None:
                assert bool((value.abs() <= scale * (1 + 1e-9)).all()), case.name


@every_operator
def test_terms_are_known_for_everything_that_is_compared(name):
    operator = operators.get(name)
    for case, inputs, _ in solved(name):
        needed = {a.name for a in operator.signature.outputs}
        needed |= set(operator.signature.gradients) - set(case.without)
        assert needed <= set(operator.terms(case, inputs)), case.name


@every_operator
def test_each_gradient_is_asked_for_alone_in_some_case(name):
    alone = {case.wanted for _, case in cases_of(name) if case.wanted}
    gradients = SIGNATURES[name].gradients
    if name in ("matmul", "subm_conv3d", "lltm"):  # together, or random, will do there
        alone |= {(one,) for group in alone for one in group}
    if len(gradients) > 1:
        assert {(one,) for one in gradients} <= alone


@every_operator
def test_some_case_is_small_enough_for_gradcheck(name):
    checked = [(case, inputs) for case, inputs, _ in solved(name) if case.gradcheck]
    assert checked
    for case, inputs in checked:
        assert sum(tensor.numel() for tensor in inputs.values()) < 700, case.name


@every_operator
def test_cases_and_numbers_are_the_same_for_the_same_seed_and_others_for_another(name):
    operator, case = cases_of(name)[0]
    assert operator.cases(7) == operator.cases(7)
    assert operator.cases(7)[-8:] != operator.cases(8)[-8:]
    first = operator.signature.inputs[0].name
    made = [operator.inputs(case, torch.float64, seed)[first] for seed in (7, 7, 8)]
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


@pytest.mark.parametrize("kind", ["nan", "tiny"])
@every_operator
def test_numbers_that_are_no_ordinary_ones_are_asked_of_every_operator(name, kind):
    lacks = {"tiny": ("lltm",)}  # where other terms of the sum hide them
    found = {case.values for _, case in cases_of(name)}
    assert (kind in found) != (name in lacks.get(kind, ()))


def test_nan_lies_in_one_number_of_the_first_input_and_elsewhere_in_grad_output():
    operator = operators.get("matmul")
    (case,) = (c for c in operator.cases(SEED) if c.name == "nan")
    inputs = operator.inputs(case, torch.float32, SEED)
    grads = operator.grad_outputs(
        case, operator.outputs(inputs, case), torch.float32, SEED
    )
    assert int(inputs["input"].isnan().sum()) == int(grads[0].isnan().sum()) == 1
    assert not inputs["other"].isnan().any()
    truth = operator.truth(inputs, case, grads)
    assert int(truth.outputs[0].isnan().sum()) == inputs["other"].shape[1]


@pytest.mark.parametrize("name", ["add", "matmul"])
def test_infinity_meets_a_zero_from_either_side(name):
    operator = operators.get(name)
    found = [c for c in operator.cases(SEED) if c.values == "infinite"]
    for case in found:
        for one in operator.inputs(case, torch.float32, SEED).values():
            assert int(one.isinf().sum()) == 1 and (one == 0).any()
    assert any(
        bool(
            operator.outputs(operator.inputs(case, torch.float64, SEED), case)[0]
            .isnan()
            .any()
        )
        for case in found
    )


@every_operator
def test_some_case_is_called_twice(name):
    assert any(case.again for _, case in cases_of(name))


def test_points_at_the_ends_of_int32_are_no_neighbours():
    operator = operators.get("subm_conv3d")
    (case,) = (c for c in operator.cases(SEED) if c.values == "far")
    inputs = operator.inputs(case, torch.float32, SEED)
    n, _, y, x = inputs["coordinates"].long().T
    assert int(x.min()) == -(2**31) and int(x.max()) == 2**31 - 1
    rulebook, valid = operator.saved(inputs, case)[0]
    for read, write in rulebook[valid].reshape(-1, 2).tolist():
        assert n[read] == n[write] and abs(x[read] - x[write]) <= 1
        assert abs(y[read] - y[write]) <= 1


def test_integers_need_more_digits_than_tf32_and_half_have():
    operator = operators.get("matmul")
    case = operator.case(
        {
            "name": "exact",
            "shapes": {"input": [9, 9], "other": [9, 9]},
            "values": "integers",
        }
    )
    inputs = operator.inputs(case, torch.float32, SEED)
    bits = inputs["input"].view(torch.int32)
    assert bool((bits & 0x1FFF != 0).all())  # of 23 digits TF32 keeps the first 10
    assert not bool((inputs["input"].half() == inputs["input"]).any())
    assert set(inputs["other"].flatten().tolist()) == {-1.0, 0.0, 1.0}


# ---- mistakes in a case file ---------------------------------------------------------


CONV2D = operators.get("conv2d")


@pytest.mark.parametrize(
    ("mistaken", "error", "words"),
    [
        pytest.param(
            lambda: CONV2D.case({"name": "x", "strid": 2}),
            CaseError,
            r"conv2d\.toml: case 'x' .* key 'strid'",
            id="an_unknown_word",
        ),
        pytest.param(
            lambda: CONV2D.input_shapes(
                CONV2D.case({"name": "x", "N": 1, "IC": 2, "IH": 3})
            ),
            CaseError,
            "lacks the size 'IW'",
            id="a_missing_size",
        ),
        pytest.param(
            lambda: lay_out(torch.zeros(2, 2), "diagonal"),
            ValueError,
            "unknown layout 'diagonal'",
            id="an_unknown_layout",
        ),
        pytest.param(
            lambda: operators.get("conv3d"), KeyError, "conv3d", id="unknown_operator"
        ),
    ],
)
def test_a_mistake_in_a_case_is_named(mistaken, error, words):
    with pytest.raises(error, match=words):
        mistaken()


def test_every_operator_has_a_module_and_a_case_file():
    for name in SIGNATURES:
        assert operators.get(name).name == name
        assert tomllib.loads((CASES / f"{name}.toml").read_text())["cases"]


# ---- layouts -------------------------------------------------------------------------

DENSE = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
STRIDES = {
    "contiguous": (60, 20, 5, 1),
    "transposed": (60, 20, 1, 4),
    "reversed": (1, 2, 6, 24),
    "channels_last": (60, 1, 15, 3),
    "gaps": (2 * 480, 2 * 80, 2 * 10, 2),
    "broadcast": (0, 20, 5, 1),
    "broadcast_second": (20, 0, 5, 1),
    "broadcast_last": (12, 4, 1, 0),
    "scalar": (0, 0, 0, 0),
}


KEPT = {
    "broadcast": DENSE[:1],
    "broadcast_second": DENSE[:, :1],
    "broadcast_last": DENSE[..., :1],
    "scalar": DENSE[:1, :1, :1, :1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_gives_the_strides_it_promises_and_keeps_or_repeats_values(layout):
    assert lay_out(DENSE, layout).stride() == STRIDES[layout]
    kept = KEPT.get(layout, DENSE).expand(DENSE.shape)
    assert torch.equal(lay_out(DENSE, layout), kept)


NAMES_AXIS_1 = {"channels_last", "broadcast_second"}


@pytest.mark.parametrize("layout", sorted({*LAYOUTS} - NAMES_AXIS_1))
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (4,)])
def test_layout_takes_any_number_of_axes_and_none(layout, shape):
    dense = torch.ones(shape)
    assert torch.equal(lay_out(dense, layout), dense)


def test_the_reference_differentiates_by_a_weight_of_odd_strides():
    """PyTorch's slow_conv2d refuses this one: "grad_weight must be contiguous"."""
    sizes = {"N": 1, "IC": 2, "IH": 9, "IW": 8, "OC": 1, "KH": 3, "KW": 1}
    layout = {"input": "channels_last", "weight": "reversed"}
    case = CONV2D.case({"name": "odd", "layout": layout, **sizes})
    inputs = CONV2D.inputs(case, torch.float64, 1)
    grads = CONV2D.grad_outputs(case, CONV2D.outputs(inputs, case), torch.float64, 1)
    assert CONV2D.truth(inputs, case, grads).gradients[1] is not None


SUBM_CASES = cases_of("subm_conv3d")


@pytest.mark.parametrize(
    ("subm", "case"), SUBM_CASES, ids=[c.name for _, c in SUBM_CASES]
)
def test_the_rulebook_is_that_of_the_header(subm, case):
    """operators.h, word by word: who reads whom at each place of the kernel."""
    inputs = subm.inputs(case, torch.float64, SEED)
    (rulebook, valid), (count, _) = subm.saved(inputs, case)
    points = [tuple(row) for row in inputs["coordinates"].tolist()]
    row_of = {point: row for row, point in enumerate(points)}
    kernel = inputs["weight"].shape[2:]
    dilation = subm.signature.resolve(case.options)["dilation"]
    for k, place in enumerate(itertools.product(*map(range, kernel))):
        step = [
            (at - size // 2) * d
            for at, size, d in zip(place, kernel, dilation, strict=True)
        ]
        seen = [(n, z + step[0], y + step[1], x + step[2]) for n, z, y, x in points]
        pairs = [(row_of[s], write) for write, s in enumerate(seen) if s in row_of]
        assert count[k] == len(pairs)
        found = rulebook[k][valid[k, :, 0]].tolist()
        assert [tuple(pair) for pair in found] == pairs


def test_rstd_of_a_row_of_close_numbers_is_right_to_its_last_digits():
    """torch.native_layer_norm is 20 units in the last place off here."""
    layer_norm, row = (
        operators.get("layer_norm"),
        (0.7871299979508419, 0.8091999122216492),
    )
    case = layer_norm.case({"name": "close", "D": 2, "shapes": {"input": [1, 2]}})
    inputs = {"input": torch.tensor([row], dtype=torch.float64)}
    half = (Fraction(row[1]) - Fraction(row[0])) / 2
    exact = 1 / Decimal(float(half * half + Fraction(1e-5))).sqrt()
    (_, _), (rstd, _) = layer_norm.saved(inputs, case)
    assert abs(Decimal(float(rstd)) / exact - 1) < Decimal(4 * 2.0**-53)
