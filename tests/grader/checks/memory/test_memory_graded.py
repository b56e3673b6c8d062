# SPDX-License-Identifier: MIT
"""That a grading runs the memory check, and says so where it cannot."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from grader.checks.check_result import CheckResult
from grader.checks.memory import access
from grader.course.rungs import Selection
from grader.course.tasks import select
from grader.course.uses import Use
from grader.engine.answers.earlier_links import build
from grader.engine.checking import compiling
from grader.engine.checking.inspect_cpu import HostInspection
from grader.engine.checking.rung_checker import Answer
from grader.engine.grade import Grader
from grader.engine.score import RungResult, TaskResult
from grader.report import terminal
from grader.verdicts import Verdict
from tests.grader.checks.memory.test_memory import SEED, rung_of, subject_of
from tests.grader.engine.test_grade import Tree, copy_of_the_repository


@pytest.fixture(scope="module", autouse=True)
def sanitizers(tools) -> None:
    if reason := access.missing():
        pytest.skip(reason)


@pytest.fixture
def tree(tools, tmp_path) -> Tree:
    """gelu as a right file, one with a bug, and one that hides it from this check."""
    made = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    folder = made.root / "labs" / "02_naive_c" / "gelu"
    for number, name in enumerate(("static_array_overrun", "not_in_every_build"), 1):
        whole = rung_of(f"gelu_{name}").file
        shutil.copy(whole, folder / f"{number:02}_{name}.c")
    return made


def memory_of(tree: Tree) -> dict[str, str]:
    """File -> what the memory check of its forward said."""
    return {
        rung["id"].rsplit("/")[-1]: check["verdict"]
        for rung in tree.task("02_naive_c/gelu")["rungs"]
        for check in rung["checks"]
        if (check["name"], check["direction"]) == ("memory", "forward")
    }


def test_a_grading_runs_the_memory_check(tree):
    done = tree.run("grade")
    assert memory_of(tree) == {
        "00_definition": "PASS",
        "01_static_array_overrun": "MEMORY_ERROR",
        "02_not_in_every_build": "SUSPECT",
    }
    assert done.returncode == 1
    assert "the build with sanitizers failed" in done.stdout
    assert "memory was not checked" not in done.stdout + done.stderr


def test_a_grading_without_sanitizers_says_so(tree, plain_compiler):
    done = tree.run("grade", CC=plain_compiler)
    assert memory_of(tree) == {}
    assert "\nmemory was not checked" in done.stdout
    assert "has no AddressSanitizer here" in done.stdout


def test_a_direction_that_only_the_fast_build_has_is_not_passed():
    name = "gelu_static_array_overrun"
    watched = dataclasses.replace(build(rung_of(name), mode="sanitize"), directions=())
    right = CheckResult("forward", "forward", Verdict.PASS)
    with (
        subject_of(rung_of(name)) as subject,
        HostInspection(subject, rung_of(name), SEED, sanitized=lambda: watched) as it,
    ):
        *_, found = it([right], "forward", [])
    assert (found.name, found.verdict) == ("memory", Verdict.SUSPECT)
    assert found.message.endswith("the build with sanitizers has no forward")


def test_files_that_use_others_are_in_c_too(tools, monkeypatch):
    """That there is no memory check is told of them, and not of files in Python."""
    monkeypatch.setattr(compiling, "sanitizers_missing", lambda: "none here")
    for name, said in ("02_naive_c/gelu", "none here"), ("01_python_function/add", ""):
        (task,) = select(name).tasks
        use = Use("plain", "x/y", "here")
        rung = dataclasses.replace(task.rungs[0], uses=(use,))
        alone = dataclasses.replace(task, rungs=(rung,))
        chosen = Selection((alone,), frozenset({rung.id}), whole=False)
        with Grader(chosen, seed=1) as grader:
            (node,) = grader.graph.nodes.values()
            node.answer = Answer(RungResult(rung, ()))
            assert grader.without_sanitizers() == said


def test_cases_that_were_left_out_are_told(capsys):
    looked = "checked 3 of 9 cases"
    said = f"{looked}: plain did not return"
    (task,) = select("02_naive_c/gelu").tasks
    part = CheckResult("memory", "forward", Verdict.PASS, "f32", 3, message=said)
    rest = CheckResult("forward", "forward", Verdict.PASS, "f32", 9)
    found = RungResult(task.rungs[0], (rest, part))
    terminal.advice([TaskResult(task, (found,))])
    out = capsys.readouterr().out
    check = f"the check of memory accesses {looked}"
    assert f"{task.rungs[0].id} forward: {check} (no points are lost" in out
    assert "plain did not return" in out
    terminal.advice([TaskResult(task, (RungResult(task.rungs[0], (rest,)),))])
    assert capsys.readouterr().out == ""
