# SPDX-License-Identifier: MIT
"""Lab 01's rules: what a file may be built of, and that its backward is its own.

Each file is run by a real Python worker, which takes seconds to start; what the rules
say of single names is asked directly.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from signatures import SIGNATURES
from torch.utils._python_dispatch import TorchDispatchMode

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values import audit, forward
from grader.course.exhibits import HUNT
from grader.course.rungs import ROOT
from grader.operators.primitives import PLUMBING
from grader.runner.worker.student_rules import Engine, Forbidden, Rules
from grader.verdicts import Verdict
from tests import put

LAB = ROOT / "labs" / "01_python_function"
REFERENCES = sorted(f for f in LAB.glob("*/[0-9]*.py") if f.parent.name != HUNT)
DIRECTIONS = ("forward", "backward")
SEED = 3

ATEN = {
    schema.name.removeprefix("aten::")
    for schema in torch._C._jit_get_all_schemas()
    if schema.name.startswith("aten::")
}

every_operator = pytest.mark.parametrize("name", SIGNATURES)


def rules_of(name: str) -> Rules:
    entry = operators.get(name)
    allowed = PLUMBING | set(entry.primitives)
    return Rules(
        {
            "forbidden": entry.forbidden,
            "allowed": sorted(allowed),
            "plain_add": entry.plain_add,
        }
    )


def audited(name: str, file: Path) -> list[tuple[Verdict, str]]:
    """Verdict and message of the audit of each direction."""
    operator = operators.get(name)
    subject = Subject(operator, source=file, shown=f"labs/01_python/{file.name}")
    try:
        cases = operator.cases(SEED)
        found = [audit.check(subject, cases, d, SEED) for d in DIRECTIONS]
    finally:
        subject.close()
    return [(result.verdict, result.message) for result in found]


# ---- the references ------------------------------------------------------------------


@pytest.mark.parametrize("file", REFERENCES, ids=lambda file: file.parent.name)
def test_the_reference_keeps_to_its_rules(tools, file):
    assert audited(file.parent.name, file) == [(Verdict.PASS, "")] * 2


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("if elementwise_affine and bias:", "if elementwise_affine:", "bias=False"),
        ("if elementwise_affine and bias:", "if bias:", "elementwise_affine=False"),
    ],
)
def test_a_module_has_no_parameter_that_its_arguments_switch_off(
    tools, tmp_path, right, wrong, words
):
    (file,) = (LAB / "layer_norm").glob("00_*.py")
    text = file.read_text()
    assert text.count(right) == 1
    changed = put(tmp_path / file.name, text.replace(right, wrong))
    operator = operators.get("layer_norm")
    subject = Subject(operator, source=changed, shown="x.py")
    try:
        few = operator.cases(SEED)[:6]
        found = forward.check(subject, few, "f64", SEED, through_module=True)
    finally:
        subject.close()
    assert found.verdict is Verdict.WRONG_CONTRACT
    assert "but it has a parameter 'bias'" in found.message
    assert words in found.message


# ---- linear --------------------------------------------------------------------------

LINEAR = """
import torch
from torch.nn import functional as F


class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        {forward}

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        OC, IC = weight.shape
        rows, grad = input.reshape(-1, IC), grad_output.reshape(-1, OC)
        needed = ctx.needs_input_grad
        return (
            (grad @ weight).reshape(input.shape) if needed[0] else None,
            grad.T @ rows if needed[1] else None,
            grad.sum(0) if needed[2] else None,
        )


def linear(input, weight, bias=None):
    return {call}
"""
APPLY = "LinearFunction.apply(input, weight, bias)"
PRODUCT = "y = input @ weight.T; return y if bias is None else y + bias"


@pytest.fixture
def audit_linear(tools, tmp_path):
    """The audit of a linear by its forward's statements and its function's value."""

    def of(forward: str, *, call: str = APPLY) -> list[tuple[Verdict, str]]:
        file = tmp_path / "00_mine.py"
        file.write_text(LINEAR.format(forward=forward, call=call))
        return audited("linear", file)

    return of


TABLE = r"the table in the lab's.* \([^()]+\.py:\d+: .+\)$"
COMPOSED = "input @ weight.T if bias is None else input @ weight.T + bias"
OWN = "the gradient goes through PyTorch's own AddBackward0"
CUT = "(input @ weight.T).detach()"
SPLIT = "y = F.linear(input, weight); return y if bias is None else y + bias"


@pytest.mark.parametrize(
    ("forward", "call", "expected"),
    [
        pytest.param(PRODUCT, APPLY, [("PASS", "")] * 2, id="a_matrix_product"),
        pytest.param(
            "pass",
            COMPOSED,
            [("PASS", ""), ("WRONG_CONTRACT", OWN)],
            id="no_backward_of_its_own",
        ),
        pytest.param(
            "pass",
            CUT,
            [("", ""), ("WRONG_CONTRACT", "the result has no gradient function")],
            id="cut_off_from_autograd",
        ),
        pytest.param(
            "return input.detach().numpy()",
            APPLY,
            [("FORBIDDEN", "passes its tensors to NumPy")] * 2,
            id="numpy_is_no_way_round",
        ),
        pytest.param(
            "torch.svd(weight); " + PRODUCT,
            APPLY,
            [("FORBIDDEN", "svd, which this task does not allow: " + TABLE)],
            id="an_operator_that_no_list_allows",
        ),
    ],
)
def test_what_linear_may_be_built_of(audit_linear, forward, call, expected):
    found = audit_linear(forward, call=call)
    for (verdict, message), (wanted, words) in zip(found, expected):
        assert verdict == (wanted or verdict), message
        assert re.search(words, message), message


@pytest.mark.parametrize(
    ("forward", "operator"),
    [
        ("return F.linear(input, weight, bias)", "linear"),
        (SPLIT, "linear"),
        ("return torch.addmm(bias, input, weight.T)", "addmm"),
    ],
    ids=["with_bias", "without_bias", "addmm"],
)
def test_the_librarys_own_linear_is_forbidden(audit_linear, forward, operator):
    found = audit_linear(forward)
    assert [verdict for verdict, _ in found] == ["FORBIDDEN"] * 2
    for _, message in found:
        assert re.search(f"^small: calls aten::{operator}: {TABLE}", message), message


# ---- add -----------------------------------------------------------------------------

ADD = """
import torch


class AddFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, other, alpha):
        {forward}

    @staticmethod
    def backward(ctx, grad_output):
        return None, None, None


def add(input, other, *, alpha=1):
    return AddFunction.apply(input, other, alpha)
"""


@pytest.mark.parametrize(
    "forward",
    [
        "return input + alpha * other",
        "return torch.add(input, other, alpha=alpha)",
        "output = (0 * other + input).clone(); output += alpha * other; return output",
    ],
    ids=["broadcast", "with_alpha", "in_place"],
)
def test_a_sum_that_broadcasts_is_the_task_itself(tools, tmp_path, forward):
    """Its first cases decide: the audit looks at no more than those."""
    file = tmp_path / "00_mine.py"
    file.write_text(ADD.format(forward=forward))
    (verdict, message), _ = audited("add", file)
    assert verdict is Verdict.FORBIDDEN
    assert "aten::add with broadcasting or alpha" in message


# ---- the lists themselves ------------------------------------------------------------

LIBRARYS_OWN = {
    "add": "_foreach_add",
    "matmul": "mm bmm matmul mv dot einsum baddbmm addmm linear tensordot inner conv2d",
    "linear": "linear addmm addmv conv1d mkldnn_convolution",
    "unfold": "im2col col2im convolution",
    "conv2d": "conv2d convolution mkldnn_convolution thnn_conv2d _convolution",
    "depthwise_conv2d": "conv2d convolution _conv_depthwise2d",
    "gelu": "gelu gelu_ gelu_backward mkldnn_reorder_conv2d_weight",
    "layer_norm": "native_layer_norm layer_norm native_batch_norm var_mean",
    "lltm": "lstm_cell _thnn_fused_lstm_cell gru_cell rnn_tanh_cell",
    "subm_conv3d": "conv3d slow_conv3d convolution _sparse_mm",
}


@every_operator
def test_the_librarys_own_operator_and_its_kin_are_forbidden(name):
    rules = rules_of(name)
    for kin in LIBRARYS_OWN[name].split():
        assert rules.is_forbidden(kin), kin


@pytest.mark.parametrize("name", [n for n in SIGNATURES if n != "lltm"])
def test_what_pytorch_runs_for_the_operator_is_refused(name):
    """By one of the nets: a kernel is replaced, or the audit does not allow it. (lltm
    is no operator of PyTorch's: its reference is a composition.)
    """
    entry, rules, used = operators.get(name), rules_of(name), {}

    class Notes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            word = func._schema.name.removeprefix("aten::")
            used[word] = word != "add"
            return func(*args, **(kwargs or {}))

    for case in entry.cases(SEED)[:2]:
        inputs = entry.inputs(case, torch.float64, SEED)
        with Notes():
            entry.outputs(inputs, case)
    assert any(rules.is_forbidden(word) for word in used) or rules.judge(used, {}), used


@every_operator
def test_every_name_in_the_lists_is_an_operator_of_pytorch(name):
    entry = operators.get(name)
    exact = {word for word in entry.forbidden if "*" not in word}
    assert (exact | set(entry.primitives)) - ATEN == set()


def test_every_plain_operator_of_the_lists_is_one_of_pytorch():
    assert set(PLUMBING) - ATEN == set()


def test_patterns_match_words_and_plain_names_match_whole():
    rules = Rules({"forbidden": ["mm", "*conv*"]})
    assert [rules.is_forbidden(n) for n in ("mm", "mm_", "addmm")] == [
        True,
        True,
        False,
    ]
    assert rules.is_forbidden("mkldnn_convolution")


@pytest.mark.parametrize(
    ("space", "name", "closed"),
    [
        ("aten", "cholesky_inverse", True),
        ("mkldnn", "_linear_pointwise", True),
        ("quantized", "linear", True),
        ("onednn", "linear_dynamic_fp16", True),
        ("aten", "nonzero", False),
        ("aten", "uniform_", False),
        ("profiler", "_record_function_enter_new", False),
    ],
)
def test_operators_that_multiply_are_closed_in_every_namespace(space, name, closed):
    assert rules_of("matmul")._is_closed(space, name) is closed
    assert not Rules({"forbidden": ["mm"]})._is_closed(space, name)


def test_autograds_engine_runs_once_and_only_for_the_worker():
    class Known:
        queued = "what else an engine has"

        def run_backward(self, *given, create_graph):
            return given, create_graph

    rules = Rules({})
    engine = Engine(Known(), rules)
    rules.ours = True
    assert engine.run_backward(1, create_graph=False) == ((1,), False)
    with pytest.raises(Forbidden, match="lets PyTorch's autograd compute a gradient"):
        engine.run_backward(1, create_graph=False)
    assert engine.queued == Known.queued


def test_a_plain_sum_is_allowed_in_add():
    assert rules_of("add").judge({"add": True, "expand": True}, {}) == ""
    assert "aten::add with broadcasting" in rules_of("add").judge({"add": False}, {})
