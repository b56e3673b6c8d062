# SPDX-License-Identifier: MIT
"""The notebooks of the labs, and what they are made of: check, compare, compile_c.

Each notebook is run twice by a kernel: here, where the labs are solved, and in a copy
of the repository as a student has it, with starters. Its exercises are solved and
missed in this process, where that takes no kernel.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import convlab
import matplotlib as mpl
import nbformat
import pytest
import torch
from convlab._check import _Trial
from convlab._native import python_folder
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from signatures import SIGNATURES

from grader.commands.notebooks import all_notebooks, execute, why
from grader.course.rungs import ROOT
from grader.solution_marks import REGION
from grader.verdicts import Verdict
from tests import some
from tests.grader.commands.notebook_answers import ANSWERS
from tests.house.test_style import starter

every_notebook = pytest.mark.parametrize(
    "path", all_notebooks(), ids=lambda path: path.stem
)


@pytest.fixture
def with_lab_05(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook of lab 05 finds the package that the tests have built."""
    if path.parent.name.startswith("05"):
        package = request.getfixturevalue("extension")
        folder = Path(package.__file__).parents[1]
        monkeypatch.setenv("PYTHONPATH", str(folder))


@cache
def cells(path: Path) -> list[Any]:
    return list(nbformat.read(path, as_version=4).cells)


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in cells(path) if cell.cell_type == "code"]


# ---- as they lie in the repository ---------------------------------------------------


def test_labs_01_and_02_have_a_notebook():
    assert {path.parent.name for path in all_notebooks()} >= {
        "01_python_function",
        "02_naive_c",
    }


@every_notebook
def test_a_notebook_is_kept_without_outputs_in_cells_of_15_lines_of_python(path):
    for cell in code_cells(path):
        assert (cell.outputs, cell.execution_count) == ([], None), cell.id
        source = re.sub(r'""".*?"""', '""', cell.source, flags=re.DOTALL)
        assert len([x for x in source.splitlines() if x.strip()]) <= 15, cell.id


@every_notebook
def test_a_notebook_gives_no_solution_away(path):
    """No line of a solution that says something stands in a code cell."""
    solutions = set()
    for file in ROOT.glob("labs/*/*/[0-9]*.*"):
        for solution, _ in REGION.findall(file.read_text()):
            solutions |= {
                re.sub(r"\s*(//|#).*", "", x).strip() for x in solution.splitlines()
            }
    assert len(solutions) > 300
    shown = {x.strip() for cell in code_cells(path) for x in cell.source.splitlines()}
    leaked = {line for line in solutions & shown if len(line) > 24}
    loop = re.compile(r"for \(int\w+ \w+ = 0; [^;]*; \w+\+\+\) \{")
    assert not {line for line in leaked if not loop.fullmatch(line)}


# ---- run by a kernel -----------------------------------------------------------------


def text_of(cell: Any) -> str:
    parts = [output.get("text", "") for output in cell.outputs]
    parts += [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "\n".join(parts)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run beside other tests: small tensors need no second core."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def executed(path: Path, folder: Path, root: Path = ROOT) -> dict[str, str]:
    """What each cell showed, by the cell's id."""
    notebook = execute(nbformat.read(path, as_version=4), folder, root)
    return {c.id: text_of(c) for c in notebook.cells if c.cell_type == "code"}


def test_the_kernel_is_the_python_that_runs_the_tests(tmp_path):
    cell = nbformat.v4.new_code_cell("import sys, convlab\nprint(sys.executable)")
    notebook = execute(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
    assert text_of(notebook.cells[0]).strip() == sys.executable


def test_when_a_notebook_ends_its_kernel_ends_and_its_sockets_are_closed(tmp_path):
    opened = []
    for _ in range(2):  # the first leaves an event loop for those that follow
        cell = nbformat.v4.new_code_cell("import os\nprint(os.getpid())")
        notebook = execute(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
        assert not Path("/proc", text_of(notebook.cells[0]).strip()).exists()
        opened.append(len(list(Path("/proc/self/fd").iterdir())))
    assert opened[0] == opened[1]


@every_notebook
@pytest.mark.usefixtures("with_lab_05")
def test_a_notebook_runs_where_the_labs_are_solved(path, tmp_path):
    shown = executed(path, tmp_path)
    assert re.match(r"\w+, seed \d+: right\n", list(shown.values())[-1].strip())
    answers = [text for name, text in shown.items() if name.startswith("check-")]
    assert sum("not written yet" in text for text in answers) == len(answers) - 1


@pytest.fixture(scope="module")
def students_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with starters in place of solutions, and nothing built."""
    root = tmp_path_factory.mktemp("student")
    built = shutil.ignore_patterns("*.so", "__pycache__")
    for part in ("common", "grader", "labs"):
        shutil.copytree(ROOT / part, root / part, ignore=built)
    for file in root.glob("labs/*/*/[0-9]*.*"):
        file.write_text(starter(str(file.relative_to(root))))
    return root


@pytest.mark.parametrize(
    "path", some(all_notebooks(), every=2), ids=lambda path: path.stem
)
def test_a_notebook_runs_where_nothing_is_written_yet(
    path, students_tree, tmp_path, monkeypatch
):
    convlab.view(torch.zeros(1))  # the binding is built; the copy need not build it
    ours = python_folder()
    shutil.copytree(ours, tmp_path / "build" / "python" / ours.name)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    shown = executed(students_tree / path.relative_to(ROOT), tmp_path, students_tree)
    assert (
        "not right\n  forward    float32  NOT_IMPLEMENTED" in list(shown.values())[-1]
    )
    own = next(text for name, text in shown.items() if name.startswith("own-"))
    assert "not written yet" in own


# ---- exercises -----------------------------------------------------------------------


def run_cell(source: str, name: str, space: dict[str, Any]) -> str:
    """What a cell prints and shows."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(tree, name, "exec"), space)
        if isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), name, "eval")
            print(repr(eval(code, space)))
    return said.getvalue()


def answers_of(path: Path, number: int) -> dict[str, str]:
    """What the cells after the exercises say; exercises are answered by ANSWERS."""
    mpl.use("agg")
    space: dict[str, Any] = {}
    shown: dict[str, str] = {}
    for cell in code_cells(path):
        own = cell.id.startswith("own-") or cell.id == "check-own"
        if "seconds(" in cell.source or own:  # long, and about something else
            continue
        answers = ANSWERS.get(cell.id, {number: cell.source})
        said = run_cell(answers[number], cell.id, space)
        if cell.id.startswith("check-"):
            shown[cell.id] = said
    return shown


@every_notebook
def test_every_exercise_has_a_check_and_an_answer_here(path):
    ids = [cell.id for cell in code_cells(path)]
    exercises = [i for i in ids if i.startswith("exercise-")]
    assert exercises
    assert set(exercises) <= set(ANSWERS)
    for name in exercises:
        assert ids[ids.index(name) + 1] == name.replace("exercise", "check")


@every_notebook
@pytest.mark.parametrize(
    ("number", "word", "other"),
    [
        pytest.param(0, "right", "not", id="right_to_what_is_right"),
        pytest.param(1, "not yet", "right", id="not_yet_to_what_is_wrong"),
    ],
)
@pytest.mark.usefixtures("with_lab_05")
def test_an_exercise_says(path, number, word, other):
    for name, said in answers_of(path, number).items():
        assert word in said and other not in said, (name, said)


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (lambda x: x + 1, [-1.0, 2.0], "[-1.0, 2.0] it returns [0.0, 3.0], expected"),
        (lambda x: x.foo, [1.0], "it raises AttributeError"),
        (lambda x: x[:1], [1.0, 1.0], "not yet"),
        (lambda x: x * torch.nan, [1.0, 1.0], "not yet"),
    ],
    ids=["another_value", "an_exception", "another_shape", "nan"],
)
def test_compare_tells_what_was_given_and_expected(function, given, words):
    found = convlab.compare(function, torch.abs, [(torch.tensor(given),)])
    assert not found and words in repr(found)


# ---- convlab.check -------------------------------------------------------------------


def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return torch.nn.functional.conv2d(
        input, weight, bias, stride, padding, dilation, groups
    )


class Skewed(torch.autograd.Function):
    """The identity, with a gradient that is 1.001 times what it should be."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 1.001


WRONG = {
    "scaled": (
        lambda *a, **k: conv(*a, **k) * 1.001,
        "forward    float32  WRONG_VALUE",
    ),
    "gradient_too_large": (
        lambda x, w, *a, **k: conv(Skewed.apply(x), w, *a, **k),
        "gradient   float32  WRONG_GRADIENT",
    ),
    "detached": (lambda *a, **k: conv(*a, **k).detach(), "has no gradient function"),
    "not_written": (lambda *a, **k: (_ for _ in ()).throw(NotImplementedError), "NOT_"),
    "a_list_of_two": (lambda *a, **k: (1, 2), "1 tensors were expected, got int, int"),
    "wrong_shape": (lambda *a, **k: conv(*a, **k)[None], "has shape (1, 2, 2,"),
    "raises": (lambda input: input, "CRASH"),
}


@pytest.mark.parametrize("name", WRONG)
def test_check_finds_what_is_wrong_and_names_the_first_case(name):
    function, words = WRONG[name]
    report = convlab.check(function, "conv2d", 3)
    said = repr(report)
    assert not report and words in said
    assert "plain: " in said
    assert "with input (2, 3, 5, 4), weight (2, 3, 2, 3), bias (2,)" in said


def test_gradcheck_alone_finds_a_gradient_that_is_a_little_too_large():
    trial = _Trial(WRONG["gradient_too_large"][0], "conv2d", 3)
    line = trial.line("gradcheck", "f64")
    assert line.verdict is Verdict.WRONG_GRADIENT
    assert "not the derivative of your forward" in line.message


def test_check_passes_pytorchs_own_function_with_and_without_gradients():
    report = convlab.check(conv, "conv2d", 3)
    assert report
    assert "gradcheck  float64  PASS" in repr(report)
    assert convlab.check(conv, "conv2d", 3, backward=False).lines[-1].name == "forward"


def test_check_knows_its_operators():
    with pytest.raises(ValueError, match="no operator is called 'conv3d'"):
        convlab.check(conv, "conv3d")


# ---- the rest ------------------------------------------------------------------------


def test_operators_lists_every_operator_with_formula_and_files():
    shown = repr(convlab.operators())
    assert len(convlab.operators()) == len(SIGNATURES)
    for name in SIGNATURES:
        assert re.search(rf"^{name}\(.*\)\n    .*=", shown, re.MULTILINE), name
    assert "02_naive_c/conv2d: 00_definition, 01_loop_order" in shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("double f(const tensor_t *t) { return 1; }", r"snippet\.c:1:.*error"),
        ("static int x;", "no function was found"),
    ],
)
def test_c_that_does_not_compile_is_told_in_the_compilers_words(text, words):
    with pytest.raises(convlab.LoadError, match=words):
        convlab.compile_c(text)


def test_c_takes_tensors_and_numbers():
    c = convlab.compile_c(
        """
        #include "tensor.h"
        double scaled(const tensor_t *t, int64_t i, double by)
        {
            return by * ((const double *)t->data)[i * t->stride[0]];
        }
        """
    )
    column = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)[:, 1]
    assert c.scaled(column, 2, 0.5) == 2.5
    with pytest.raises(TypeError, match="expected a tensor, an int or a float"):
        c.scaled(column, "2", 0.5)


# ---- derivations ---------------------------------------------------------------------

DERIVATIONS = ROOT / "labs" / "01_python_function" / "conv2d_gradients.ipynb"
SLIPS = {
    "derive-unfold": ("kw * dilation[1] - padding", "kw - padding"),
    "derive-conv2d": ("* w.shape[1] + ic", "+ ic"),
    "derive-gelu": ("claimed = share_of_t +", "claimed ="),
    "derive-layer-norm": (" - spread)", ")"),
    "derive-lltm": ("gamma = of_c +", "gamma ="),
    "derive-subm-steps": ("gx[p] +=", "gx[p] ="),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_wrong_formula_stops_its_derivation(name):
    space: dict[str, Any] = {"convlab": convlab, "torch": torch}
    words = {"steps", name.split("-")[1]}
    family = [c for c in code_cells(DERIVATIONS) if c.id.startswith("derive-")]
    family = [cell for cell in family if cell.id.split("-")[1] in words]
    right, wrong = SLIPS[name]
    with pytest.raises(AssertionError):
        for cell in family:
            source = cell.source
            if cell.id == name:
                assert source.count(right) == 1
                source = source.replace(right, wrong)
            run_cell(source, cell.id, space)


def test_every_derivation_is_right():
    space: dict[str, Any] = {"convlab": convlab, "torch": torch}
    for cell in code_cells(DERIVATIONS):
        if cell.id.startswith("derive-"):
            run_cell(cell.source, cell.id, space)


def test_a_stopped_notebook_says_where_and_why_in_one_sentence(tmp_path: Path) -> None:
    made = nbformat.v4.new_notebook()
    lines = "x = 1", "raise ValueError('the sizes differ\\nby one')", "y = 2"
    made.cells = [nbformat.v4.new_code_cell(line) for line in lines]
    with pytest.raises(CellExecutionError) as error:
        execute(made, tmp_path)
    said = why(made, error.value)
    assert said == "stopped in code cell 2 of 3: ValueError: the sizes differ"
    assert "did not end within" in why(made, CellTimeoutError("late"))
    assert "its Python process ended" in why(made, DeadKernelError("gone"))
