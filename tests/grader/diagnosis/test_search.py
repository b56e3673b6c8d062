# SPDX-License-Identifier: MIT
"""The search names a wrong formula that no list has, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from grader import operators
from grader.checks.subject import Subject
from grader.course.rungs import ROOT
from grader.diagnosis import search
from grader.diagnosis.match import Trial
from grader.diagnosis.mistakes import known_mistakes
from grader.diagnosis.search import (
    edits,
    find,
    named_steps,
    step_mistakes,
    sum_mistakes,
)
from grader.diagnosis.search.forms import FORMS
from tests.grader.diagnosis.equal_edits import settings
from tests.grader.diagnosis.test_explanation import explained, subject_of
from tests.proofs.wrong_code import source

POINTS = ROOT / "labs" / "02_naive_c" / "subm_conv3d"
WRONG = [  # operator, what is changed, in what words
    (
        "depthwise_conv2d",
        {
            "Y": "oh * p.dilation_h + kh * p.stride_h - p.padding_h",
            "X": "ow * p.dilation_w + kw * p.stride_w - p.padding_w",
        },
        "`ih = oh*dilation_h + kh*stride_h - padding_h`, "
        "`iw = ow*dilation_w + kw*stride_w - padding_w` of 'input'",
    ),
    (
        "conv2d",
        {"Y": "oh * p.stride_h + kh * p.dilation_h - p.padding_h + 1"},
        "`ih = oh*stride_h + kh*dilation_h - padding_h + 1` of 'input'",
    ),
    (
        "conv2d",
        {"CHANNEL": "oc / (OC / p.groups) * IC + (IC - 1 - ic)"},
        "`channel = group*IC/G + (IC - 1 - ic)` of 'input'",
    ),
    ("conv2d", {"START": "bias ? -*at1(bias, oc) : 0"}, "-1 times 'bias'"),
    ("matmul", {"LHS": "*at2(&a, M - 1 - m, k)"}, "`m = M - 1 - m` of 'input'"),
    ("linear", {"WEIGHT": "*at2(weight, OC - 1 - oc, ic)"}, "`oc = OC - 1 - oc`"),
    ("unfold", {"ROW": "(c * KH + KH - 1 - kh) * KW + kw"}, "`kh = KH - 1 - kh`"),
    (
        "layer_norm",
        {"RSTD": "1 / sqrt(VARIANCE + 2 * p.eps)"},
        "`2*eps` in place of `eps`",
    ),
    (
        "layer_norm",
        {"RESULT": "(XHAT) * (W) - (B)"},
        "`-bias` in place of `bias` in the step `output`",
    ),
    ("lltm", {"OLD": "2 * *at2(c, n, j)"}, "`2*c` in place of `c` in the step `new_c`"),
]


@pytest.mark.parametrize(("operator", "change", "words"), WRONG)
def test_one_wrong_place_of_a_formula_is_told(
    tools, compile_rung, operator, change, words
):
    with subject_of(operator, compile_rung(source(operator, **change))) as subject:
        result = explained(subject, "forward")
    assert words in (result.diagnosis or ""), result.diagnosis
    assert result.mistake


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"FROM_C": "0.5 * *at2(grad_new_c, n, j)"}, "`grad_new_c/2` in place of"),
        ({"SLOPE_O": "1 - o * o"}, "the slope of the step `o` is `1 - o**2`"),
        ({"SLOPE_G": "1 - pow(tanh(g > 0 ? g : log(g + 1)), 2)"}, "`tanh` in place of"),
        ({"GIVE_C": "2 * of_c"}, "from the step `new_c` is multiplied by `2`"),
    ],
)
def test_a_wrong_gradient_of_a_step_is_told(tools, compile_rung, change, words):
    with subject_of("lltm", compile_rung(source("lltm", **change))) as subject:
        result = explained(subject, "backward")
    assert words in (result.diagnosis or ""), result.diagnosis


def changed(file: str, old: str, new: str) -> str:
    """A file of the reference with one change, which finds its header."""
    text = (POINTS / file).read_text()
    assert old in text
    return text.replace(old, new).replace('"points.h"', f'"{POINTS}/points.h"')


def test_a_step_with_the_dilation_of_another_axis_is_told(tools, compile_rung):
    wrong = changed("00_rulebook.c", "* p.dilation_h,", "* p.dilation_w,")
    with subject_of("subm_conv3d", compile_rung(wrong)) as subject:
        result = explained(subject, "forward")
    assert "from dilation_w in place of dilation_h" in (result.diagnosis or "")


def test_the_features_of_the_written_point_are_told(tools, compile_rung):
    right, other = "*at2(features, read, ic)", "*at2(features, write, ic)"
    wrong = changed("01_rulebook_backward.c", right, other)
    pairs = {dtype: (path,) * 2 for dtype, path in compile_rung(wrong).items()}
    subject = Subject(operators.get("subm_conv3d"), libraries=pairs, has_forward=False)
    result = explained(subject, "backward")
    subject.close()
    assert "from the features of the point that is written" in (result.diagnosis or "")


# ---- right formulas ------------------------------------------------------------------


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("operator", FORMS)
def test_a_sum_without_an_edit_is_right(operator, backward):
    form, checked = FORMS[operator], 0
    for setting in settings(operator, backward=backward):
        for name, right in setting.truth.items():
            target = name.removeprefix("grad_")
            sum_ = form.bias if target == "bias" else form.products
            found = sum_mistakes.answer(form, sum_, sum_, name, "bias", setting)
            torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-9)
            checked += 1
    assert checked > 15


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("operator", named_steps.PROGRAMS)
def test_steps_without_a_change_are_right(operator, backward):
    checked = 0
    for setting in settings(operator, backward=backward):
        found = step_mistakes.Changed({})(setting)
        for name, right in setting.truth.items():
            torch.testing.assert_close(found[name], right, rtol=1e-7, atol=1e-7)
            checked += 1
    assert checked > 15


@pytest.mark.parametrize("operator", named_steps.PROGRAMS)
def test_known_mistakes_change_steps_that_exist(operator):
    there = {
        (step, name)
        for both in named_steps.PROGRAMS[operator].values()
        for steps in both
        for step, formula in steps.items()
        for name in named_steps.code(formula).co_names
    }
    every = [one for m in known_mistakes(operator) for one in m.formulas]
    changed = [one for one in every if isinstance(one, step_mistakes.Changed)]
    assert len(changed) > 10
    places = [place for one in changed for place in one.changes]
    backward = named_steps.BACKWARD
    assert there.issuperset((step.removeprefix(backward), n) for step, n in places)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("operator", [*FORMS, *named_steps.PROGRAMS])
def test_numbers_of_no_formula_have_no_name(operator, backward):
    """Each result times its own index: no edit of a formula does this."""
    trials = []
    for setting in settings(operator, backward=backward):
        got = {
            n: t * (1 + torch.arange(t.numel()).reshape(t.shape))
            for n, t in setting.truth.items()
        }
        trial = Trial(None, setting, got)
        for name, right in setting.truth.items():
            trial.size[name], trial.terms[name] = float(right.abs().max()), 10
            trial.wrong[name] = got[name] != right
        trials.append(trial)
    assert find.name_by_search(operator, trials) == []


def test_the_page_explains_each_name():
    page = (ROOT / "docs" / "guides" / "mistakes.md").read_text()
    text = "".join(Path(m.__file__).read_text() for m in (edits, step_mistakes))
    names = set(re.findall(r'"([a-z]+(?:_[a-z]+)+)"', text)) - {
        "grad_output",
        "stride_h",
    }
    assert names == set(search.NAMES)
    assert all(f"`{name}`" in page for name in names)
