# SPDX-License-Identifier: MIT
"""The ladder tensor_view: right files pass on any seed, wrong ones are told how."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import convlab
import pytest
import torch
from signatures.view_names import PREFIX, VIEWS

from grader.checks.check_result import CheckResult
from grader.checks.views import random_views, view_answers
from grader.checks.views.dlpack import Borrowing, Lending
from grader.checks.views.placing import Layout
from grader.commands.handout import starter
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import select
from grader.engine.checking import untouched
from grader.engine.score import RungResult, TaskResult
from grader.report.page import task_outcome
from grader.verdicts import Verdict
from tests import put

LADDER = "02_naive_c/tensor_view"
FOLDER = ROOT / "labs" / LADDER
SEED = 3
TASK = select(LADDER).tasks[0]
every_view = pytest.mark.parametrize("function", VIEWS)

Check = Callable[[str, str], CheckResult]


def source(function: str) -> str:
    """The reference."""
    return next(FOLDER.glob(f"[0-9][0-9]_{function}.c")).read_text()


@pytest.fixture
def check(tmp_path: Path, tools: None) -> Check:
    """Compiles a text and asks one of its functions."""

    def checked(function: str, text: str, seed: int = SEED) -> CheckResult:
        file, library = tmp_path / "view.c", tmp_path / "view.so"
        file.write_text(text)
        command = ["cc", "-std=c11", "-O1", "-g", "-fPIC", "-shared", "-nostartfiles"]
        command += [f"-I{ROOT}/common", "-o", str(library), str(file)]
        subprocess.run(command, check=True, timeout=60)
        return view_answers.check(
            library, function, random_views.questions(function, seed)
        )

    return checked


# ---- what is asked -------------------------------------------------------------------


def test_header_worker_and_python_name_the_same_functions_in_the_same_order():
    header = (ROOT / "common" / "tensor_view.h").read_text()
    calls = (ROOT / "common" / "view_calls.c").read_text()
    names = [f"{PREFIX}{name}" for name in VIEWS]
    assert re.findall(r"^status_t (\w+)\(", header, re.M) == names
    assert re.findall(r'^    VIEW\("(\w+)"', calls, re.M) == names
    assert sorted(file.stem[3:] for file in FOLDER.glob("*.c")) == sorted(VIEWS)


@every_view
def test_questions_are_drawn_anew_and_come_again_with_their_seed(function):
    first, again = (random_views.questions(function, SEED) for _ in range(2))
    assert first == again != random_views.questions(function, SEED + 1)
    assert len(first) == random_views.COUNT >= 200


@every_view
def test_questions_have_tensors_of_every_kind(function):
    given = [asked.given for asked in random_views.questions(function, SEED)]
    assert len({one.dtype for one in given}) == 6
    if function == "as_strided":
        given = [
            Layout(*a.arguments[:2]) for a in random_views.questions(function, SEED)
        ]
    kinds = {
        "no axes": [one for one in given if not one.size],
        "empty": [one for one in given if 0 in one.size],
        "expanded": [one for one in given if 0 in one.stride],
        "five axes": [one for one in given if len(one.size) >= 5],
    }
    assert all(len(found) >= 5 for found in kinds.values()), kinds


@pytest.mark.parametrize("function", [name for name in VIEWS if name != "to_dlpack"])
def test_pytorch_takes_most_questions_and_refuses_some(function):
    said = [asked.answer() for asked in random_views.questions(function, SEED)]
    refused = Counter(words.split(" at ")[0] for view, words in said if view is None)
    assert 20 <= refused.total() <= 125, refused


def test_nothing_is_refused_where_a_tensor_is_lent():
    asked = random_views.questions("to_dlpack", SEED)
    assert all(isinstance(one, Lending) and one.lent() for one in asked)


def test_a_struct_that_is_borrowed_means_the_same_to_pytorch_with_an_offset():
    given = Layout((2, 3), (1, 2), 8)
    plain = Borrowing("from_dlpack", given, 64)
    assert replace(plain, byte_offset=4).answer() == (given, "")
    assert replace(plain, lanes=2).answer()[0] is None


# ---- what comes of right and wrong files ---------------------------------------------


@every_view
@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(function, seed, check):
    found = check(function, source(function), seed)
    assert (found.verdict, found.cases) == (Verdict.PASS, random_views.COUNT), (
        found.message
    )


@every_view
def test_a_starter_is_not_written_yet(function, check):
    found = check(function, starter(source(function)))
    assert found.verdict is Verdict.NOT_IMPLEMENTED


WRONG = {
    "bytes_for_elements": (
        *("as_strided", "p.offset * bytes;", "p.offset;"),
        "data counts in bytes",
    ),
    "storage_too_short": (
        *("as_strided", "(last + 1) * bytes > storage", "last * bytes > storage"),
        "got a view, expected a refusal: setStorage",
    ),
    "sizes_not_exchanged": (
        *("transpose", "view->size[dim0] = input->size[dim1];", ""),
        "the sizes differ",
    ),
    "axis_not_refused": (
        *("transpose", "dim0 >= axes", "dim0 > axes"),
        "Dimension out of range",
    ),
    "stride_not_multiplied": (
        *("slice", "stride * p.step", "stride"),
        "stride[0] differs",
    ),
    "start_forgotten": (
        *("slice", "view->data =", "if (0) view->data ="),
        "data did not move",
    ),
    "expanded_with_its_stride": (
        *("expand", "size == old && d >= front ?", "d >= front ?"),
        "expected size",
    ),
    "view_where_a_copy_is_needed": (
        *("reshape", "if (cut != run) return STATUS_INVALID_ARGUMENT;", ""),
        "expected a refusal: view size is not compatible",
    ),
    "device_forgotten": (
        *("to_dlpack", "input->device == DEVICE_CUDA ? kDLCUDA : kDLCPU", "kDLCPU"),
        "device_type is 1, expected 2",
    ),
    "shape_of_the_frame": (
        *("to_dlpack", "lent->shape =", "int64_t own[6]; lent->shape = own; (void)"),
        "does not point to input->size",
    ),
    "byte_offset_forgotten": (
        *("from_dlpack", " + lent->byte_offset", ""),
        "offset",
    ),
    "strides_always_there": (
        *(
            "from_dlpack",
            "lent->strides ? lent->strides[d] : dense",
            "lent->strides[d]",
        ),
        "used a NULL pointer",
    ),
    "not_filled": (
        *("transpose", "*view = *input;", "return STATUS_OK;"),
        "was not written",
    ),
    "reads_an_element": (
        *(
            "transpose",
            "*view = *input;",
            "*view = *input; dim0 += *(char *)view->data;",
        ),
        "its elements cannot be read",
    ),
    "writes_to_its_input": (
        *(
            "transpose",
            "*view = *input;",
            "*view = *input; ((tensor_t *)input)->ndim = 0;",
        ),
        "wrote to *input",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_told_its_smallest_wrong_call(name, check):
    function, right, wrong, words = WRONG[name]
    text = source(function)
    assert text.count(right) == 1
    found = check(function, text.replace(right, wrong))
    assert found.verdict in (Verdict.WRONG_VALUE, Verdict.CRASH)
    assert words in found.message and f"{function}" in found.message


# ---- points --------------------------------------------------------------------------


def result(*verdicts: str) -> TaskResult:
    """The ladder with such verdicts, "" for a file that is not there."""
    rungs = []
    for name, verdict in zip(VIEWS, verdicts):
        rung = Rung(LADDER, FOLDER / f"00_{name}.c")
        check = CheckResult(name, "forward", Verdict(verdict)) if verdict else None
        rungs.append(RungResult(rung, (check,) if check else ()))
    return TaskResult(TASK, tuple(rungs), asked=TASK.directions)


@pytest.mark.parametrize(
    ("verdicts", "points", "pending", "ok"),
    [
        pytest.param(["PASS"] * 7, 7, 0, True, id="all"),
        pytest.param(["PASS"] * 6 + ["CRASH"], 6, 0, False, id="one_is_wrong"),
        pytest.param(["PASS"] * 6 + ["GRADER"], 6, 1, True, id="one_is_pending"),
        pytest.param(["PASS"] * 6 + [""], 6, 0, False, id="one_is_missing"),
        pytest.param(["NOT_IMPLEMENTED"] * 7, 0, 0, False, id="nothing_is_written"),
    ],
)
def test_every_function_has_the_same_share_of_the_points(verdicts, points, pending, ok):
    found = result(*verdicts)
    assert (found.points, found.pending, found.ok) == (points, pending, ok)
    assert (task_outcome(found).kind in ("pass", "pending")) is ok


@every_view
def test_a_starter_that_nobody_has_touched_is_known_without_asking(
    function, tmp_path, monkeypatch
):
    file = put(tmp_path / f"00_{function}.c", starter(source(function)))
    monkeypatch.setattr(untouched.given, "is_untouched", lambda rung: True)
    found = untouched.result(Rung(LADDER, file))
    assert found and [check.name for check in found.checks] == [function]
    file.write_text(source(function))
    assert untouched.result(Rung(LADDER, file)) is None


def test_a_file_that_does_not_build_stands_for_the_function_in_its_name():
    rung = Rung(LADDER, FOLDER / "02_slice.c")
    built = RungResult(rung, (CheckResult("build", "forward", Verdict.BUILD),))
    found = TaskResult(TASK, (built,), asked=TASK.directions)
    assert found.of_function("slice") is found.best("forward") is Verdict.BUILD


# ---- in Python -----------------------------------------------------------------------


def test_loaded_views_share_the_memory_of_their_tensor():
    views = convlab.load(LADDER)
    x = torch.arange(12.0).reshape(3, 4)
    made = views.slice(views.transpose(x, 0, 1), 0, 1, 4, 2)
    made.zero_()
    assert torch.equal(made, x.T[1::2]) and x[0, 1] == 0
    assert torch.equal(views.from_dlpack(x.T), x.T)
    assert views.as_strided(x, (2,), (5,), 2).tolist() == [2, 0]
    with pytest.raises(ValueError, match="view_reshape refuses"):
        views.reshape(x.T, (12,))


def test_a_file_alone_has_its_own_function():
    file = FOLDER / "03_expand.c"
    assert "03_expand" in repr(convlab.load(file))
    with pytest.raises(convlab.LoadError, match="no file defines view_slice"):
        convlab.load(file).slice(torch.ones(3), 0, 0, 1)
