# SPDX-License-Identifier: MIT
"""Lab 05: what PyTorch and C++ say, in the words and at the place that help."""

from __future__ import annotations

import runpy
from types import SimpleNamespace

import pytest
import torch
from torch._dynamo.exc import TorchDynamoException

from grader.checks.check_result import CheckResult
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import select
from grader.diagnosis import extension_line
from grader.runner.worker import student_errors, tools_worker
from grader.runner.worker.gates import registered
from grader.runner.worker.gates.bound import Bound, Broken
from grader.verdicts import Verdict

SHOWN = "labs/05_torch_extension"


def rung() -> Rung:
    return select("05_torch_extension/conv2d/stable").tasks[0].rungs[0]


def line_at(check: CheckResult) -> str:
    file, number = check.location.rsplit(":", 1)
    assert file == f"{SHOWN}/csrc/stable/conv2d.cpp"
    return (ROOT / file).read_text().splitlines()[int(number) - 1]


CALLED = f" ({SHOWN}/convlab_ext/_autograd.py:55: return operator(*arguments))"
TOLD_BY_C = {  # what the workers say -> what stands in the line that is shown
    "RuntimeError: conv2d: 'grad_bias' must be (2) for these arguments, got (3)": (
        "const auto grad_bias ="
    ),
    "(PyTorch says: convlab::conv2d() expected at most 2 argument(s) but": (
        'm.def("conv2d('
    ),
    "(convlab::conv2d_backward() Expected a value of type 'int' for argument": (
        'm.def("conv2d_backward('
    ),
    "(PyTorch says: Could not run 'convlab::conv2d_backward' with": (
        'm.def("conv2d_backward('
    ),
    "SIGABRT: aborted itself: unknown type specifier. Common valid schema": "m.def(",
}


@pytest.mark.parametrize("said", TOLD_BY_C)
def test_what_c_says_is_told_at_its_line_of_c(said):
    failed = CheckResult("x", "backward", Verdict.CRASH, message=said + CALLED)
    placed = extension_line.placed(failed, rung())
    assert placed.message == said
    assert TOLD_BY_C[said] in line_at(placed)


@pytest.mark.parametrize(
    "said",
    ["conv2d: 'grad_output' must be (2) for these arguments", "NameError: convlab::x"],
)
def test_what_python_says_is_told_at_its_line_of_python(said):
    failed = CheckResult("x", "backward", Verdict.CRASH, message=said + CALLED)
    assert extension_line.placed(failed, rung()) is failed


@pytest.mark.parametrize(
    ("name", "file"),
    [("02_traced_sizes", "bug_hunt/02_traced_sizes.py"), ("00_one_loop", "")],
)
def test_a_line_of_an_exhibits_package_is_told_in_the_exhibits_own_file(name, file):
    hunt = select("05_torch_extension/bug_hunt").tasks[0]
    exhibit = next(one for one in hunt.rungs if one.file.stem == name)
    copy = f"{SHOWN}/convlab_ext/{exhibit.operator}.py:7"
    words = dict(message=f"TypeError: no ({copy}: f())", location=copy)
    placed = extension_line.placed(
        CheckResult("x", "forward", Verdict.CRASH, **words), exhibit
    )
    own = f"{SHOWN}/{file}:7"
    told = (f"TypeError: no ({own}: f())", own) if file else ("TypeError: no", None)
    assert (placed.message, placed.location) == told


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "for output[2]: Shapes torch.Size([6]) and torch.Size([2]) are not equal!",
            "result 2: the fake kernel gave sizes [2], but the kernel gave [6]",
        ),
        (
            "Stride mismatch! Strides are (4, 1) and (1, 4) (mismatched at 0)!",
            "the fake kernel gave strides (1, 4), but the kernel gave (4, 1)",
        ),
        ("x" * 500, "x" * 236 + " ..."),
    ],
)
def test_what_two_kernels_gave_is_told_by_whose_it_is(said, expected):
    assert registered._both(said) == expected


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("NotImplementedError", "not written yet: write `fake` in convlab_ext/add.py"),
        (
            "NotImplementedError('no rule')",
            "no rule",
        ),
    ],
)
def test_a_rule_that_is_not_written_is_named_with_its_file(tmp_path, raised, said):
    file = tmp_path / "convlab_ext" / "add.py"
    file.parent.mkdir()
    file.write_text(f"def fake(*arguments):\n    raise {raised}\n")
    with pytest.raises(NotImplementedError) as error:
        runpy.run_path(str(file))["fake"]()
    words = tools_worker.failure_words(error.value, str(file.parent))
    assert (words["kind"], words["message"]) == ("unwritten", said)
    assert words["location"] == f"{file}:2"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "conv2d: 'dilation_h' is 0, expected at least 1",
            "in the order of the schema?",
        ),
        ("Argument input is not defined as mutable but was mutated", "allows neither"),
    ],
)
def test_the_check_of_the_schema_tells_a_call_that_raises(said, told):
    error = RuntimeError(f"opcheck(op, ...): test_schema failed with {said}")
    operator = torch.ops.aten.add.Tensor
    assert told in registered._opcheck_sentence(operator, "test_schema", error)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("start * 2.0 + 1", "; `start` is None in `rule`"),
        ("start.sum() * other", "; `start` is None in `rule`"),
        ("other.start + start", "; `start` is None in `rule`"),
        ("start + nothing", ""),  # two variables are None: either may be the cause
    ],
)
def test_the_variable_that_is_none_is_told(tmp_path, line, said):
    file = tmp_path / "convlab_ext" / "lltm.py"
    file.parent.mkdir()
    begin = "class other:\n    start = 1\n\n\n"
    file.write_text(f"{begin}def rule(start=None, nothing=None):\n    return {line}\n")
    with pytest.raises((TypeError, AttributeError)) as error:
        runpy.run_path(str(file))["rule"]()
    words = tools_worker.failure_words(error.value, str(file.parent))
    assert words["kind"] == "slip"
    assert words["message"].endswith(f"{error.value}{said}")


def test_another_order_of_the_schema_is_told():
    package = SimpleNamespace(conv2d=None)
    bound = Bound(package, "conv2d")
    right = ["input", "weight", "bias", "stride", "padding", "dilation", "groups"]

    def order_of(names):
        arguments = [SimpleNamespace(name=name) for name in names]
        return bound.order_of(
            SimpleNamespace(_schema=SimpleNamespace(arguments=arguments))
        )

    assert order_of(right) == order_of([*right, "more"]) == ""
    wrong = [*right[:4], "dilation", "padding", "groups"]
    assert order_of(wrong) == (
        f"the schema of conv2d has the order {', '.join(wrong)}, but PyTorch's order "
        f"is {', '.join(right)}"
    )
    job = {"what": "a weight with too few channels", "names": "weight", "right": "2"}
    error = RuntimeError("conv2d: 'dilation' is [0, 0], expected numbers from 1")
    with pytest.raises(
        Broken, match="The schema of conv2d has the order input, weight"
    ):
        registered._says_why("conv2d", job, error, order_of(wrong))
    with pytest.raises(Broken, match="its message does not name weight"):
        registered._says_why("conv2d", job, error, "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "out = rows @ weight.mT",
            "; in this line, `rows` has the sizes [3, 4], `weight` has the sizes "
            "[2, 5]",
        ),
        ("return rows.sum(dim=7)", "; in this line, `rows` has the sizes [3, 4]"),
        ("raise RuntimeError('no idea')", ""),
    ],
)
def test_an_exception_about_sizes_shows_the_sizes_of_the_variables(
    tmp_path, line, said
):
    file = tmp_path / "convlab_ext" / "linear.py"
    file.parent.mkdir()
    rows = "rows, weight, out = torch.ones(3, 4), torch.ones(2, 5), torch.ones(1)"
    file.write_text(f"import torch\n\n\ndef rule():\n    {rows}\n    {line}\n")
    with pytest.raises((RuntimeError, IndexError)) as error:
        runpy.run_path(str(file))["rule"]()
    words = tools_worker.failure_words(error.value, str(file.parent))
    assert words["message"].endswith(f"{error.value}{said}")
    sentence = student_errors.sentence_of(error.value, str(file.parent))
    assert f"{error.value}{said} ({file}:6: " in sentence


def test_an_error_of_torch_compile_ends_before_torch_compiles_own_lines() -> None:
    text = (
        "Backend compiler exception\n  Explanation: inductor failed\n"
        "  Developer debug context: Backend: inductor\n  Traceback:\n"
        '    File "/somewhere/grader/compiled.py", line 38, in around\n'
        "For more details about this graph break, please visit: https://example.org"
    )
    words = tools_worker.plain(TorchDynamoException(text))
    assert words.endswith("Developer debug context: Backend: inductor")
    assert "Traceback" in tools_worker.plain(RuntimeError(text))
