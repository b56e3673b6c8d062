# SPDX-License-Identifier: MIT
"""Mistakes of lab 01 that leave no numbers: named where they are, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.subject import Subject
from grader.checks.values import audit, forward, gradient
from grader.course.rungs import ROOT
from grader.diagnosis import without_numbers
from grader.diagnosis.explanation import explain
from grader.diagnosis.mistakes import of_python
from grader.verdicts import Verdict

SEED = 11
NAMES = {mistake.name for mistake in of_python.MISTAKES}
RUNGS = {file.parent.name: file for file in ROOT.glob("labs/01_*/*/00_*.py")}
# of unfold's forward, not of its backward
SIZES = """        KH, KW = kernel_size
        OH = extent(IH, KH, stride[0], padding[0], dilation[0])
        """
FOLD = "torch.nn.functional.fold(grad_col, (IH, IW), *ctx.window)"

Edits = dict[str, str]


def edited(operator: str, edits: Edits) -> str:
    """The reference with these edits."""
    text = RUNGS[operator].read_text()
    for old, new in edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def place(operator: str) -> str:
    """The reference's path."""
    return str(RUNGS[operator].relative_to(ROOT))


def found(folder: Path, operator: str, edits: Edits, check: str) -> CheckResult:
    """What a check says of the reference with these edits, explained if it fails."""
    file = folder / RUNGS[operator].name
    file.write_text(edited(operator, edits))
    subject = Subject(operators.get(operator), source=file, shown=place(operator))
    cases = subject.operator.cases(SEED, drawn=3)
    try:
        if check == "audit":
            result = audit.check(subject, cases, "backward", SEED)
        else:
            asked = {"forward": forward, "gradient": gradient}[check]
            result = asked.check(subject, cases, "f64", SEED)
        return explain(subject, result, cases, SEED)
    finally:
        subject.close()


PRESENT: list[
    tuple[str, str, Edits, str, str]
] = [  # operator, check, edits, name, line
    (
        *("matmul", "gradient"),
        {"return grad_input, grad_other": "return grad_other, grad_input"},
        *("gradients_swapped", "return grad_other"),
    ),
    (
        *("linear", "gradient"),
        {"if ctx.needs_input_grad[2]:": "if True:"},
        *("needs_input_grad_ignored", "return grad_input"),
    ),
    (
        *("matmul", "audit"),
        {"if ctx.needs_input_grad[0]:": "if True:"},
        *("needs_input_grad_ignored", ""),
    ),
    (
        *("linear", "gradient"),
        {"save_for_backward(input, weight)": "save_for_backward(output, weight)"},
        *("output_saved", "grad_input = (grad_rows"),
    ),
    (
        *("gelu", "gradient"),
        {"return grad_output * slope, None": "return grad_output * slope"},
        *("gradients_miscounted", ""),
    ),
    (
        *("gelu", "gradient"),
        {"grad_output * slope, None": "grad_output.mul_(slope), None"},
        *("changed_in_place", "grad_output.mul_"),
    ),
    (
        *("layer_norm", "forward"),
        {"centered = input - mean": "centered = input.sub_(mean)"},
        *("changed_in_place", "input.sub_(mean)"),
    ),
    (
        *("add", "gradient"),
        {".apply(input, other, alpha)": ".apply(input, other.detach(), alpha).data"},
        *("cut_from_graph", "other.detach()"),
    ),
    (
        *("conv2d", "gradient"),
        {FOLD: FOLD.replace("*ctx.window", "*ctx.window[:2], *ctx.window[:1:-1]")},
        *("fold_arguments_swapped", "grad_input = torch"),
    ),
    (
        *("conv2d", "gradient"),
        {FOLD: FOLD.replace("IH, IW", "OH, OW")},
        *("fold_size_of_output", "grad_input = torch"),
    ),
    (
        *("unfold", "gradient"),
        {"padded[:, :, top : top + IH, left : left + IW]": "padded"},
        *("gradient_not_cropped", "return grad_input"),
    ),
    (
        *("unfold", "forward"),
        {"max(room // stride + 1, 0)": "max(room // stride, 0)"},
        *("windows_miscounted", ""),
    ),
]

WORDS = {  # what the message says besides the line
    "changed_in_place": "make a new tensor instead of changing this one in place",
    "cut_from_graph": "not with .data or detach()",
}
SAID = {  # by PyTorch, or by the worker -> the mistake that it proves
    "a leaf Variable that requires grad is being used in an in-place operation.": (
        "changed_in_place"
    ),
    "one of the variables needed for gradient computation has been modified by an "
    "inplace operation": "changed_in_place",
    "writes to 'input': inputs are read-only": None,  # of C
    "Trying to backward through the graph a second time": None,
    "The size of tensor a (5) must match the size of tensor b (8)": None,
}

ABSENT: list[tuple[str, str, Edits]] = [  # near them, and none of them
    (
        *("matmul", "gradient"),  # of shapes that no other argument has
        {"return grad_input, grad_other": "return grad_input.mT, grad_other.mT"},
    ),
    (
        *("add", "gradient"),  # the output is saved, and nobody needs the input
        {
            "return input.expand(shape) + scaled.expand(shape)": (
                "output = input.expand(shape) + scaled.expand(shape)\n"
                "        ctx.save_for_backward(output)\n"
                "        return output"
            ),
            "axes, keepdim=True": "axes[:1], keepdim=True",
        },
    ),
    (
        *("conv2d", "gradient"),  # fold is given too little: no arguments are exchanged
        {FOLD: "torch.nn.functional.fold(grad_col, (IH, IW), ctx.window[0])"},
    ),
    (
        *("unfold", "gradient"),  # cropped, on one side
        {"top : top + IH, left : left + IW": "top:, left:"},
    ),
    (
        *("unfold", "forward"),  # one window too few along one axis alone
        {f"{SIZES}OW = extent(IW, KW,": f"{SIZES}OW = extent(IW - 1, KW,"},
    ),
]


@pytest.mark.parametrize(("operator", "check", "edits", "name", "line"), PRESENT)
def test_it_is_named_with_the_students_line(
    tools, tmp_path, operator, check, edits, name, line
):
    result = found(tmp_path, operator, edits, check)
    assert result.mistake == name, result
    assert name in NAMES
    assert WORDS.get(name, "") in result.message
    assert result.diagnosis
    lines = edited(operator, edits).splitlines()
    where = [
        f"{place(operator)}:{n}" for n, text in enumerate(lines, 1) if line in text
    ]
    assert result.location == (where[0] if line else None), result


@pytest.mark.parametrize(("operator", "check", "edits"), ABSENT)
def test_what_is_near_to_it_gets_no_name(tools, tmp_path, operator, check, edits):
    result = found(tmp_path, operator, edits, check)
    assert result.verdict is not Verdict.PASS
    assert result.mistake not in NAMES, result


@pytest.mark.parametrize("message", SAID)
def test_a_sentence_proves_one_mistake_or_none(message):
    found = without_numbers.proved_mistake(message)
    assert (found.name if found else None) == SAID[message]


def test_the_options_exchanged_for_one_axis_are_told_where_calls_end_in_errors(
    tools, tmp_path
):
    edits = {
        "columns = places(kw, OW, stride[1], dilation[1])\n                window =": (
            "columns = places(kw, OW, stride[0], dilation[1])\n                window ="
        )
    }
    result = found(tmp_path, "unfold", edits, "gradient")
    assert result.verdict is Verdict.CRASH
    assert result.mistake == "hw_swapped", result
