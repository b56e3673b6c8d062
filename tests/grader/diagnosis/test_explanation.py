# SPDX-License-Identifier: MIT
"""Wrong submissions get the right name, or none; right ones are never accused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.course.rungs import ROOT
from grader.diagnosis.explanation import explain
from grader.verdicts import Verdict
from tests.proofs.wrong_code import source

Compile = Callable[[str], dict[str, Path]]
SEED = 11
CHECKS = {"forward": forward.check, "backward": gradient.check}


@dataclass(frozen=True)
class Wrong:
    """A wrong submission: the macros it redefines, and the names it should get."""

    operator: str
    change: dict[str, str]
    names: dict[str, str | None]  # by direction; None: it fails and gets no name


def case(operator: str, names: dict[str, str | None], **change: str) -> object:
    """A parameter of the tests."""
    label = next(iter(names.values())) or "unlisted"
    macros = "-".join(change).lower()
    return pytest.param(
        Wrong(operator, change, names), id=f"{operator}-{label}-{macros}"
    )


def fwd(operator: str, name: str | None, **change: str) -> object:
    """Wrong forward."""
    return case(operator, {"forward": name}, **change)


def back(operator: str, name: str | None, **change: str) -> object:
    """Wrong backward."""
    return case(operator, {"backward": name}, **change)


def both(operator: str, name: str | None, **change: str) -> object:
    """Wrong both ways, by the same name."""
    return case(operator, {"forward": name, "backward": name}, **change)


DENSE_INPUT = "real_data(input)[((n * input->size[1] + c) * IH + ih) * IW + iw]"
NO_PADDING = {
    "Y": "oh * p.stride_h + kh * p.dilation_h",
    "X": "ow * p.stride_w + kw * p.dilation_w",
}
EXCHANGED = {
    "Y": "oh * p.stride_w - p.padding_w + kh * p.dilation_w",
    "X": "ow * p.stride_h - p.padding_h + kw * p.dilation_h",
}
NO_STRIDE = {
    "Y": "oh - p.padding_h + kh * p.dilation_h",
    "X": "ow - p.padding_w + kw * p.dilation_w",
}
NO_DILATION = {
    "Y": "oh * p.stride_h - p.padding_h + kh",
    "X": "ow * p.stride_w - p.padding_w + kw",
}
EDGE = (
    "*at4(input, n, c, ih < 0 ? 0 : ih >= IH ? IH - 1 : ih, "
    "iw < 0 ? 0 : iw >= IW ? IW - 1 : iw)"
)
AROUND = "*at4(input, n, c, (ih + 99 * IH) % IH, (iw + 99 * IW) % IW)"
TURNED = "*at4(weight, oc, ic, KH - 1 - kh, KW - 1 - kw)"

LISTED = [
    both("conv2d", "padding_ignored", **NO_PADDING),
    both("conv2d", "hw_swapped", **EXCHANGED),
    both(
        "conv2d",
        "hw_swapped",
        Y="oh * p.stride_h - p.padding_w + kh * p.dilation_h",
        X="ow * p.stride_w - p.padding_h + kw * p.dilation_w",
    ),
    both("conv2d", "hw_swapped", X="ow * p.stride_h - p.padding_w + kw * p.dilation_w"),
    both("conv2d", "hw_swapped", X="ow * p.stride_w - p.padding_h + kw * p.dilation_w"),
    both("conv2d", "stride_ignored", **NO_STRIDE),
    both("conv2d", "dilation_ignored", **NO_DILATION),
    fwd("conv2d", "padding_not_zero", PAD=EDGE),
    fwd("conv2d", "padding_not_zero", PAD=AROUND),
    both(
        "conv2d",
        "kernel_flipped",
        WEIGHT=TURNED,
        GRAD_WEIGHT=TURNED.replace("weight", "grad_weight"),
    ),
    back("conv2d", "gradient_not_flipped", WEIGHT_BACK=TURNED),
    back(
        "conv2d",
        "gradient_not_cropped",
        GRAD_INPUT="sink",
        EARLY="if (grad_input && ih + p.padding_h < IH && iw + p.padding_w < IW) "
        "*at4(grad_input, n, c, ih + p.padding_h, iw + p.padding_w) += g * (WEIGHT)",
    ),
    both("conv2d", "groups_ignored", CHANNEL="ic"),
    both("conv2d", "groups_ignored", CHANNEL="oc % p.groups * IC + ic"),
    both("conv2d", "groups_ignored", CHANNEL="ic * p.groups + oc * p.groups / OC"),
    fwd("conv2d", "bias_missing", START="0"),
    fwd("conv2d", "bias_per_channel", STEP="bias ? *at1(bias, oc) : 0", START="0"),
    back("conv2d", "bias_averaged", SHARE="1.0 / N"),
    back("conv2d", "bias_averaged", SHARE="1.0 / (N * OH * OW)"),
    back("conv2d", "accumulated_into_garbage", CLEAR="clear(grad_input)"),
    back(
        "conv2d",
        "weight_gradient_transposed",
        GRAD_WEIGHT="real_data(grad_weight)[((oc * IC + ic) * KW + kw) * KH + kh]",
    ),
    back(
        "conv2d",
        "weight_gradient_transposed",
        GRAD_WEIGHT="real_data(grad_weight)[((ic * OC + oc) * KH + kh) * KW + kw]",
    ),
    both("conv2d", "batch_ignored", N_END="N < 1 ? N : 1"),
    fwd("conv2d", "batch_ignored", INPUT="*at4(input, 0, c, ih, iw)"),
    fwd("conv2d", "last_tile_forgotten", OW_END="OW / 4 * 4"),
    both("conv2d", "last_tile_forgotten", OH_END="OH - 1"),
    fwd("conv2d", "last_tile_forgotten", IC_END="IC / 2 * 2"),
    back("conv2d", "last_tile_forgotten", OC_END="OC / 4 * 4"),
    both("conv2d", "strides_ignored", INPUT=DENSE_INPUT),
    back("matmul", "operand_transposed", TURN_OTHER="0"),
    fwd("matmul", "operand_transposed", RHS="*at2(&b, n, k)"),
    back("matmul", "gradients_swapped", FIRST="grad_other", SECOND="grad_input"),
    both("matmul", "batch_ignored", RHS_BATCH="0"),
    both("matmul", "batch_ignored", BATCHES="1"),
    both("matmul", "last_term_forgotten", K_END="K - 1"),
    fwd("matmul", "last_term_forgotten", K_END="K & ~7"),
    both("matmul", "last_row_or_column_forgotten", M_END="M - 1"),
    fwd("matmul", "last_row_or_column_forgotten", N_END="N / 8 * 8"),
    both("matmul", "accumulation_missing", ADD="="),
    both("matmul", "strides_ignored", DOWN="columns", RIGHT="1"),
    fwd("linear", "bias_missing", START="0"),
    fwd("linear", "weight_transposed", WEIGHT="real_data(weight)[ic * OC + oc]"),
    back("linear", "bias_averaged", SHARE="1.0 / R"),
    fwd("linear", "bias_first_row", START="bias && r == 0 ? *at1(bias, oc) : 0"),
    back("linear", "bias_first_row", BIAS_ROW="r == 0"),
    back(
        "linear",
        "weight_gradient_transposed",
        GRAD_WEIGHT="real_data(grad_weight)[ic * OC + oc]",
    ),
    both("linear", "batch_ignored", ROWS="R < 1 ? R : 1"),
    both("linear", "strides_ignored", IN="real_data(input)[r * IC + ic]"),
    both("unfold", "hw_swapped", **EXCHANGED),
    both("unfold", "order_swapped", ROW="(kh * KW + kw) * IC + c"),
    both("unfold", "order_swapped", COLUMN="ow * OH + oh"),
    both("unfold", "padding_ignored", **NO_PADDING),
    both("unfold", "stride_ignored", **NO_STRIDE),
    both("unfold", "dilation_ignored", **NO_DILATION),
    fwd("unfold", "padding_not_zero", PAD=EDGE),
    back("unfold", "overlap_overwritten", ADD="="),
    fwd("unfold", "strides_ignored", INPUT=DENSE_INPUT.replace("input->size[1]", "IC")),
    back("unfold", "accumulated_into_garbage", CLEAR="(void)0"),
    fwd("add", "alpha_ignored", SUM="a + b"),
    fwd("add", "alpha_on_input", SUM="alpha * a + b"),
    fwd("add", "alpha_twice", SUM="alpha * (a + b)"),
    back("add", "alpha_twice", SCALE_OTHER="alpha * alpha"),
    back("add", "alpha_missing_in_backward", SCALE_OTHER="1"),
    back("add", "gradients_swapped", SCALE_INPUT="alpha", SCALE_OTHER="1"),
    back("add", "broadcast_not_summed", PUT="="),
    back("add", "broadcast_averaged", SHARE="share"),
    back("add", "strides_ignored", GRAD_AT="i"),
    fwd("add", "strides_ignored", STRIDE="step"),
]

UNLISTED = [
    both("conv2d", None, Y="oh * p.stride_h - p.padding_h + kh * p.dilation_h + 1"),
    fwd("conv2d", None, START="bias ? -*at1(bias, oc) : 0"),
    fwd("conv2d", None, PUT="*at4(output, n, oc, oh, ow) = 2 *"),
    fwd("conv2d", None, PAD="1"),
    fwd("conv2d", None, STEP="1e-3"),
    both("conv2d", None, CHANNEL="oc / (OC / p.groups) * IC + (IC - 1 - ic)"),
    back("conv2d", None, GRAD="(oh ? 1 : 2) * *at4(grad_output, n, oc, oh, ow)"),
    back("conv2d", None, SHARE="oc + 1"),
    both("conv2d", None, WEIGHT="fabs(*at4(weight, oc, ic, kh, kw))"),
    fwd("conv2d", None, INPUT="(float)*at4(input, n, c, ih, iw)"),
    fwd("matmul", None, LHS="*at2(&a, M - 1 - m, k)"),
    fwd("matmul", None, PUT="*at2(&c, m, n) = -1; sum"),
    both("matmul", None, RHS="(k % 2 ? 1 : 0.5) * *at2(&b, k, n)"),
    fwd("linear", None, START="bias ? *at1(bias, OC - 1 - oc) : 0"),
    back("linear", None, SHARE="r + 1.0"),
    fwd("linear", None, WEIGHT="*at2(weight, OC - 1 - oc, ic)"),
    both("unfold", None, ROW="(c * KH + KH - 1 - kh) * KW + kw"),
    back("unfold", None, ADD="-="),
    fwd("add", None, SUM="a - alpha * b"),
    back("add", None, SCALE_INPUT="-1"),
    back("add", None, SCALE_OTHER="alpha + 1"),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As in the grader: threads only wait for each other on tensors this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def build(tmp_path: Path) -> Callable[[str], Path]:
    """Source text to a library in double; without optimizing, there are many."""

    def built(text: str) -> Path:
        file, made = tmp_path / "rung.c", tmp_path / "rung.so"
        file.write_text(text)
        command = ["cc", "-std=gnu11", "-O0", "-w", "-fPIC", "-shared", "-DREAL_F64"]
        command += ["-Wl,-Bsymbolic", f"-I{ROOT / 'common'}", "-o", str(made)]
        command += [str(file), "-lm"]
        subprocess.run(command, check=True, timeout=60)
        return made

    return built


@contextmanager
def subject_of(operator: str, libraries: dict[str, Path]) -> Iterator[Subject]:
    """A subject from libraries by dtype."""
    pairs = {dtype: (path, path) for dtype, path in libraries.items()}
    subject = Subject(operators.get(operator), libraries=pairs)
    yield subject
    subject.close()


def judged(subject: Subject, direction: str, dtype: str = "f64") -> CheckResult:
    """The check's result, explained if it failed."""
    cases = subject.operator.cases(SEED, drawn=3)
    result = CHECKS[direction](subject, cases, dtype, SEED)
    return explain(subject, result, cases, SEED)


def explained(subject: Subject, direction: str) -> CheckResult:
    """The same of a check that fails."""
    result = judged(subject, direction)
    assert result.verdict is not Verdict.PASS
    return result


@pytest.mark.parametrize("submission", [*LISTED, *UNLISTED])
def test_a_wrong_submission_gets_its_name_or_none(tools, build, submission):
    library = build(source(submission.operator, **submission.change))
    with subject_of(submission.operator, {"f64": library}) as subject:
        for direction, name in submission.names.items():
            result = explained(subject, direction)
            assert result.mistake == name, result.diagnosis
            assert result.diagnosis or name is None


# ---- words for what has no name ------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "change", "words"),
    [
        ("conv2d", {"PUT": "*at4(output, n, oc, oh, ow) = 2 *"}, "2 times the right"),
        ("conv2d", {"INPUT": "(float)*at4(input, n, c, ih, iw)"}, "kept in float"),
        ("conv2d", {"PAD": "1"}, "where padding > 0"),
        ("conv2d", {"START": "bias ? -*at1(bias, oc) : 0"}, "where there is a bias"),
        ("linear", {"START": "(bias ? *at1(bias, oc) : 0) + (r > 0)"}, "1 more than"),
        ("conv2d", {"X": "ow * p.stride_w - p.padding_w + 2 * kw * p.dilation_w"}, ""),
        ("add", {"SUM": "a - alpha * b"}, ""),
    ],
)
def test_a_mistake_without_a_name_is_described_where_something_is_known(
    tools, build, operator, change, words
):
    with subject_of(operator, {"f64": build(source(operator, **change))}) as subject:
        result = explained(subject, "forward")
        assert result.mistake is None and bool(result.diagnosis) == bool(words)
        assert words in (result.diagnosis or ""), result.diagnosis


def test_reading_past_the_end_of_a_view_names_the_view(tools, build):
    change = {"AT": "i * t->size[t->ndim - 2] * t->size[t->ndim - 1]"}
    with subject_of("matmul", {"f64": build(source("matmul", **change))}) as subject:
        result = explained(subject, "forward")
        assert "is a view there, its strides are [" in result.diagnosis
        assert result.mistake == "strides_ignored"


def test_a_saved_tensor_that_is_wrong_is_no_matter_of_chance(compile_rung):
    """No trial asks for it: that all of them come out right means nothing."""
    text = (ROOT / "labs/02_naive_c/layer_norm/00_two_pass.c").read_text()
    twice = text.replace("saved_at(rstd, r) = rstd_r", "saved_at(rstd, r) = 2 * rstd_r")
    assert twice != text
    with subject_of("layer_norm", compile_rung(twice)) as subject:
        result = explained(subject, "forward")
        assert "'rstd'" in result.message
        assert (result.mistake, result.diagnosis) == (None, None)


def test_the_same_bug_in_float_alone_is_found_there(compile_rung):
    with subject_of("conv2d", compile_rung(source("conv2d", WEIGHT=TURNED))) as subject:
        found = {judged(subject, "forward", dtype).mistake for dtype in ("f32", "f64")}
        assert found == {"kernel_flipped"}
    text = source("conv2d", PUT="*at4(output, n, oc, oh, ow) = (real)(float)")
    with subject_of("conv2d", compile_rung(text)) as subject:
        single, double = (judged(subject, "forward", dtype) for dtype in ("f32", "f64"))
        assert (single.verdict, single.diagnosis) == (Verdict.PASS, None)
        assert double.mistake is None and "float" in double.diagnosis


# ---- lab 01 --------------------------------------------------------------------------


def test_a_wrong_function_in_python_gets_its_names(tools, tmp_path):
    lab = ROOT / "labs" / "01_python_function" / "conv2d" / "00_unfold_matmul.py"
    text = lab.read_text()
    for right, bad in (
        ("output += bias.reshape(OC, 1, 1)", "pass"),
        ("grad_bias = grad_output.sum(", "grad_bias = grad_output.mean("),
    ):
        assert text.count(right) == 1
        text = text.replace(right, bad)
    file = tmp_path / "00_unfold_matmul.py"
    file.write_text(text)
    subject = Subject(operators.get("conv2d"), source=file, shown=file.name)
    try:
        assert judged(subject, "forward").mistake == "bias_missing"
        assert judged(subject, "backward").mistake == "bias_averaged"
    finally:
        subject.close()
