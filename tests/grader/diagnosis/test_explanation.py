# SPDX-License-Identifier: MIT
"""Wrong submissions get the right name, or none; right ones are never accused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import forward, gradient
from grader.course.rungs import ROOT
from grader.diagnosis.explanation import explain
from grader.verdicts import Verdict
from tests import some
from tests.grader.diagnosis.changed_parts import LISTED, TURNED, UNLISTED
from tests.proofs.wrong_code import source

Compile = Callable[[str], dict[str, Path]]
SEED = 11
CHECKS = {"forward": forward.check, "backward": gradient.check}


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


@pytest.mark.parametrize("submission", some([*LISTED, *UNLISTED], every=4))
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
        (
            "conv2d",
            {"INPUT": "(float)*at4(input, n, c, ih, iw)"},
            "use float somewhere",
        ),
        ("conv2d", {"PAD": "1"}, "where padding > 0"),
        ("conv2d", {"START": "bias ? 3 * *at1(bias, oc) : 0"}, "where there is a bias"),
        ("linear", {"START": "(bias ? *at1(bias, oc) : 0) + (r > 0)"}, "1 more than"),
        (
            "conv2d",
            {"X": "ow * p.stride_w - p.padding_w + 2 * kw * p.dilation_w"},
            "the smallest case that fails has 'input' of shape [",
        ),
        (
            "add",
            {"SUM": "a + alpha * fabs(b)"},
            "the smallest case that fails has 'input' of shape [",
        ),
    ],
)
def test_a_mistake_without_a_name_is_described(tools, build, operator, change, words):
    with subject_of(operator, {"f64": build(source(operator, **change))}) as subject:
        result = explained(subject, "forward")
        mistake = "digits_of_double_lost" if words == "use float somewhere" else None
        assert result.mistake == mistake
        assert words in (result.diagnosis or ""), result.diagnosis


def test_words_and_picture_are_of_the_dtype_that_failed(tools, compile_rung):
    """This sum is wrong everywhere in double, in float only with a stride."""
    start = "(bias ? *at1(bias, oc) : 0) + (sizeof(real) == 8 || p.stride_h > 1)"
    library = compile_rung(source("conv2d", START=start))
    with subject_of("conv2d", library) as subject:
        result = judged(subject, "forward", "f32")
    assert "stride (1, 1)" not in (result.diagnosis or ""), result.diagnosis


def test_a_case_that_a_rung_leaves_to_lower_files_says_nothing(tools, build):
    """This file covers kernels of one position, and is wrong there."""
    text = (ROOT / "labs/02_naive_c/conv2d/00_definition.c").read_text()
    body = "    (void)ctx;\n    const int64_t N = output->size[0]"
    refusal = (
        "    if (weight->size[2] * weight->size[3] > 1) return STATUS_UNSUPPORTED;\n"
    )
    wrong = text.replace(body, refusal + body, 1).replace(
        "ic0 + ic, ih", "ic0 + IC - 1 - ic, ih"
    )
    assert refusal in wrong
    libraries = {"f64": (build(wrong),) * 2}
    operator = operators.get("conv2d")
    covers = {"output": ("pointwise",)}
    subject = Subject(operator, libraries=libraries, covers=covers)
    result = explained(subject, "forward")
    subject.close()
    assert "(IC - 1 - ic)` of 'input'" in (result.diagnosis or "")


def test_reading_past_the_end_of_a_view_names_the_view(tools, build):
    change = {"AT": "i * t->size[t->ndim - 2] * t->size[t->ndim - 1]"}
    with subject_of("matmul", {"f64": build(source("matmul", **change))}) as subject:
        result = explained(subject, "forward")
        assert "is a view in this case, with strides [" in result.diagnosis
        assert result.mistake == "strides_ignored"


@pytest.mark.parametrize(
    ("saved", "name"),
    [
        ("2 * rstd_r", None),  # that all trials come out right means nothing
        ("1 / rstd_r", "deviation_saved"),
        ("1 / (rstd_r * rstd_r) - (accum)p.eps", "variance_saved"),
    ],
)
def test_a_saved_tensor_that_is_wrong_gets_its_name_or_none(compile_rung, saved, name):
    text = (ROOT / "labs/02_naive_c/layer_norm/00_two_pass.c").read_text()
    wrong = text.replace("saved_at(rstd, r) = rstd_r", f"saved_at(rstd, r) = {saved}")
    assert wrong != text
    with subject_of("layer_norm", compile_rung(wrong)) as subject:
        result = explained(subject, "forward")
        assert "'rstd'" in result.message
        assert result.mistake == name
        assert (result.diagnosis or "").startswith("'rstd': ") == bool(name)


def test_a_variance_that_cancels_is_wrong_far_from_0(compile_rung):
    change = {"SQUARE": "(float)((AT) * (AT))", "VARIANCE": "squares / (COUNT) - m * m"}
    single = {"f32": compile_rung(source("layer_norm", **change))["f32"]}
    with subject_of("layer_norm", single) as far:
        found = judged(far, "forward", "f32")
        assert found.mistake == "digits_cancel"
        assert found.diagnosis.startswith("the results are wrong only for numbers far")


LATE = "ROWS * D > 100000 && usleep(1100 * 1000)"  # explanation.CALL_LIMIT is 1 s


@pytest.mark.parametrize(
    ("direction", "name", "change"),
    [
        (
            "forward",
            "strides_ignored",
            {
                "X(r, d)": "real_data(input)[(r) * D + (d)]",
                "RSTD": f"(r + d == 0 && {LATE}) + 1 / sqrt(VARIANCE + p.eps)",
            },
        ),
        (
            "backward",
            "accumulated_into_garbage",
            {"CLEAR": f"clear(grad_input); {LATE}"},
        ),
    ],
)
def test_a_large_case_that_takes_too_long_hides_no_name(
    tools, build, direction, name, change
):
    library = build(source("layer_norm", **change))
    with subject_of("layer_norm", {"f64": library}) as subject:
        assert explained(subject, direction).mistake == name


def test_the_same_bug_in_float_alone_is_found_there(compile_rung):
    with subject_of("conv2d", compile_rung(source("conv2d", WEIGHT=TURNED))) as subject:
        found = {judged(subject, "forward", dtype).mistake for dtype in ("f32", "f64")}
        assert found == {"kernel_flipped"}
    text = source("conv2d", PUT="*at4(output, n, oc, oh, ow) = (real)(float)")
    with subject_of("conv2d", compile_rung(text)) as subject:
        single, double = (judged(subject, "forward", dtype) for dtype in ("f32", "f64"))
        assert (single.verdict, single.diagnosis) == (Verdict.PASS, None)
        assert double.mistake == "digits_of_double_lost"
        assert "float" in double.diagnosis


# ---- lab 01 --------------------------------------------------------------------------


def test_a_wrong_function_in_python_gets_its_names(tools, tmp_path):
    lab = ROOT / "labs" / "01_python_function" / "conv2d" / "00_unfold_matmul.py"
    text = lab.read_text()
    for right, bad in (
        ("output = output + bias.reshape(OC, 1, 1)", "pass"),
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
