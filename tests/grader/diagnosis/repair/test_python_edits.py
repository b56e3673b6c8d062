# SPDX-License-Identifier: MIT
"""A small mistake in a Python file is repaired by one of the listed changes."""

from __future__ import annotations

import types

import pytest
import torch

from grader import operators
from grader.diagnosis.repair.in_python.python_edits import LONGEST, MOST, edited_texts
from grader.diagnosis.repair.small_change import WORDS
from grader.operators import Case, Operator
from tests import ROOT, some

LAB = ROOT / "labs" / "01_python_function"
FILES = {file.parent.name: file for file in sorted(LAB.glob("[!b]*/00_*.py"))}
DIRECTIONS = ("forward", "backward")
SMALL = 3000  # numbers in a case
Prepared = tuple[Case, dict[str, torch.Tensor], list[torch.Tensor], operators.Truth]

SIGMOIDS = "torch.sigmoid(preact_i), torch.sigmoid(preact_o)"
MISTAKES = (  # operator, direction, what stood there, the mistake
    ("add", "forward", "scaled = alpha * other", "scaled = alpha + other"),
    ("add", "backward", "= ctx.alpha * sum_to(", "= sum_to("),
    ("add", "backward", "range(grad.ndim)", "range(1, grad.ndim)"),
    ("matmul", "forward", "range(K)", "range(K - 1)"),
    ("matmul", "backward", "product(grad_output, other.mT)", "(grad_output @ other)"),
    ("matmul", "backward", "return grad_input, grad_o", "return grad_other, grad_o"),
    ("linear", "forward", "rows @ weight.mT", "rows @ weight.reshape(IC, OC)"),
    ("linear", "backward", "grad_rows.mT @ i", "2 * grad_rows.mT @ i"),
    ("unfold", "forward", "IW, KW, stride[1]", "IW, KW, stride[0]"),
    ("unfold", "backward", "top : top + IH", "top : top + IH - 1"),
    ("unfold", "backward", "window += taps", "window -= taps"),
    ("layer_norm", "forward", "1 / torch.sqrt(var", "torch.sqrt(var"),
    ("layer_norm", "forward", "(centered * centered)", "(input * input)"),
    ("layer_norm", "backward", "(dx * xhat)", "(grad_output * xhat)"),
    ("layer_norm", "backward", "(dx - of_mean - xhat", "(dx - of_mean + xhat"),
    ("conv2d", "forward", "if bias is not None", "if bias is None"),
    ("conv2d", "forward", "(KH, KW), dilation, padding", "(KH, KW), padding, dilation"),
    ("conv2d", "backward", "filters.mT @", "filters @"),
    ("conv2d", "backward", "(IH, IW), *ctx", "(OH, OW), *ctx"),
    ("conv2d", "backward", ".sum((0, 2, 3))", ".sum((0, 1, 2))"),
    ("depthwise_conv2d", "forward", "KH * KW):", "KH * KW - 1):"),
    ("depthwise_conv2d", "backward", "[:, :, k]).sum(2)", "[:, :, k]).mean(2)"),
    ("subm_conv3d", "forward", "k // KW % KH", "k // KH % KH"),
    ("subm_conv3d", "backward", "grad_features[read] +", "grad_features[write] +"),
    ("unfold", "backward", "IH, left : left + IW", "IH, : IW"),
    ("conv2d", "backward", ".sum((0, 2, 3))", "[0].sum((1, 2))"),
    ("depthwise_conv2d", "backward", "[:, :, k]).sum(2)", "[:, :, k])[:, :, 0]"),
    ("subm_conv3d", "forward", "(k % KW - KW // 2) * d", "k % KW - KW // 2 * d"),
    ("gelu", "backward", "save_for_backward(input)", "save_for_backward(output)"),
    (
        "lltm",
        "backward",
        "torch.where(g > 0, 1.0, g + 1)",
        "torch.where(g > 0, 1.0, g.exp())",
    ),
    ("lltm", "forward", SIGMOIDS, SIGMOIDS.replace("sigmoid", "tanh")),
    ("lltm", "forward", "torch.tanh(new_c)", "torch.sigmoid(new_c)"),
    ("lltm", "backward", "grad_c * g * i * (1 - i)", "grad_c * g * (1 - i)"),
    ("gelu", "forward", "CUBIC = 0.044715", "CUBIC = 0.044"),
    ("gelu", "backward", "slope + input * share", "slope + share"),
    ("gelu", "backward", "torch.exp(-input", "torch.expm1(-input"),
)


UNUSUAL = """
import torch, math
SCALE = -0.5; OTHER = 2 if SCALE else 3
class Größe(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input: "Tensor", *rest, alpha: float = 1.0, **more):
        "Saves an α."
        ctx.save_for_backward(input); ctx.alpha = alpha
        name = f"{input.shape[0] + 1} ä {alpha!r}"
        def inner(x, k=2): return x * k if not k - 1 else -x
        if (n := len(input)) > 1 and name and not rest: n += 1
        while n > 3 or n % 2: n -= 1; continue
        match n:
            case 0 | 1: return input
            case _: pass
        output = (input  # a comment + 1
                  * SCALE) @ ((input)).mT - [*(a - b for a, b in zip(rest, rest))][-1]
        output[..., ::2, None] = input[:, 1:, n - 1] ** -n
        ä = lambda x: x ** 2 / 3; x, *_ = (1, 2)
        for k in range(n):
            for j in range(1, k, 2): output = output + ä(inner(k, k=j,)) * 1.5e-3
        return output.sum(dim=0, keepdim=True,) if 1 < n <= 2 else (yield output)
    @staticmethod
    def backward(ctx, grad):
        (input,) = ctx.saved_tensors
        return torch.where(input > 0, grad, - - grad // 2).reshape(2, -1).T, None
def scaled(input, alpha): return Größe.apply(input, alpha)
"""


def prepared(operator: Operator, *, every: int) -> list[Prepared]:
    """Small cases of an operator in double, with their right answers."""
    made = []
    for case in operator.cases(7)[::every]:
        inputs = operator.inputs(case, torch.float64, 7)
        if case.is_extreme or sum(t.numel() for t in inputs.values()) > SMALL:
            continue
        outputs = operator.outputs(inputs, case)
        grads = operator.grad_outputs(case, outputs, torch.float64, 7)
        made.append((case, inputs, grads, operator.truth(inputs, case, grads)))
    return made


def is_right(text: str, operator: Operator, cases: list[Prepared]) -> bool:
    """Whether a file gives the right outputs and gradients in every case."""
    module = types.ModuleType("student")
    try:
        exec(compile(text, "student.py", "exec"), module.__dict__)
        function = getattr(module, operator.name)
        return all(agrees(function, operator, *one) for one in cases)
    except Exception:
        return False


def agrees(function, operator: Operator, case: Case, inputs, grads, truth) -> bool:
    """Whether a function gives the right outputs and gradients in one case."""
    signature, leaves = operator.signature, {}
    wanted = dict(zip(signature.gradients, operator.wanted(case)))
    for name, tensor in inputs.items():
        leaves[name] = tensor.detach().clone().requires_grad_(wanted.get(name, False))
    given = [leaves.get(argument.name) for argument in signature.inputs]
    result = function(*given, **signature.resolve(case.options))
    results = list(result) if isinstance(result, tuple) else [result]
    sought = [leaves[name] for name, want in wanted.items() if want]
    if sought:
        copies = [grad.clone() for grad in grads]
        results += torch.autograd.grad(results, sought, copies)
    right = [*truth.outputs, *(g for g in truth.gradients if g is not None)]
    return all(
        mine.shape == theirs.shape and torch.allclose(mine, theirs, equal_nan=True)
        for mine, theirs in zip(results, right, strict=True)
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", FILES)
def test_every_changed_text_is_another_python_file(name: str, direction: str) -> None:
    text = FILES[name].read_text()
    found = edited_texts(text, direction)
    assert 100 < len(found) <= MOST
    assert len({new for _, new in found} | {text}) == len(found) + 1
    lines = text.splitlines()
    for edit, new in found:
        assert len(new.splitlines()) == len(lines)
        assert edit.old in lines[edit.line - 1] and len(edit.old) <= LONGEST
        assert edit.kind in WORDS
    for edit, new in some(found, every=20):
        compile(new, str(edit), "exec")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_changes_of_unusual_python_are_python(direction: str, end: str) -> None:
    text = UNUSUAL.replace("\n", end)
    found = edited_texts(text, direction)
    assert len(found) > 100
    for edit, new in found:
        compile(new, str(edit), "exec")
        assert new.count(end) == text.count(end) and edit.old in text


@pytest.mark.parametrize(("name", "direction", "right", "wrong"), MISTAKES)
def test_a_change_of_its_line_repairs_a_mistake(
    name: str, direction: str, right: str, wrong: str
) -> None:
    operator, text = operators.get(name), FILES[name].read_text()
    at = text.index(right)
    mistaken = text[:at] + wrong + text[at + len(right) :]
    line = text[:at].count("\n") + 1
    cases = prepared(operator, every=3)
    assert is_right(text, operator, cases) and not is_right(mistaken, operator, cases)
    repairs = [
        edit
        for edit, new in edited_texts(mistaken, direction)
        if edit.line == line and is_right(new, operator, cases)
    ]
    assert repairs


@pytest.mark.parametrize("text", ["def f(:", "", "\0", "\ud800", "(" * 9000, "x = 1\n"])
def test_a_file_that_is_no_python_function_has_no_changes(text: str) -> None:
    assert [edited_texts(text, direction) for direction in DIRECTIONS] == [[], []]
