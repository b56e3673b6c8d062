# SPDX-License-Identifier: MIT
"""Starters that nobody has touched: answered at once, and as asking answers them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.commands.handout import starter
from grader.course.rungs import EXTENSION, ROOT, Task
from grader.course.tasks import all_tasks
from grader.engine.checking import untouched
from grader.engine.score import TaskResult
from grader.verdicts import Verdict
from tests import put
from tests.grader.engine.test_grade import Tree, copy_of_the_repository
from tests.grader.engine.test_reuse import OWN

WRITTEN = OWN.replace("return STATUS_NOT_IMPLEMENTED;", "return STATUS_OK;")
EXTENSIONS = [t for t in all_tasks() if t.language == EXTENSION and "hunt" not in t.id]
ADD = ROOT / "labs" / "01_python_function" / "add" / "00_broadcast.py"


@pytest.fixture
def tree(tools: Path, tmp_path: Path) -> Tree:
    """A handout: two starters in C, one of them changed, and one in Python."""
    made = copy_of_the_repository(tmp_path, tools, "02_naive_c/gelu")
    labs = made.root / "labs"
    (labs / "02_naive_c" / "gelu" / "00_definition.c").unlink()
    put(labs / "02_naive_c" / "gelu" / "00_own.c", OWN)
    put(labs / "02_naive_c" / "gelu" / "01_written.c", OWN)
    put(labs / "01_python_function" / "add" / "00_own.py", starter(ADD.read_text()))
    head = 'title = "x"\nlanguage = "python"\n[ladder.add]\npoints = 2\n'
    put(labs / "01_python_function" / "lab.toml", head)
    files = [file for file in labs.rglob("*") if file.is_file()]
    lines = [
        f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(made.root)}\n"
        for f in files
    ]
    put(made.root / "MANIFEST", "".join(lines))
    put(labs / "02_naive_c" / "gelu" / "01_written.c", WRITTEN)
    return made


def found(tree: Tree) -> dict[str, list[tuple[str, str, str]]]:
    return {
        rung["id"]: [(c["name"], c["direction"], c["verdict"]) for c in rung["checks"]]
        for task in tree.results["tasks"]
        for rung in task["rungs"]
    }


def test_an_untouched_starter_gets_the_verdict_that_asking_gives(tree: Tree) -> None:
    tree.run("grade", CI="")
    at_once = found(tree)
    assert at_once["02_naive_c/gelu/00_own"] == [
        ("forward", "forward", "NOT_IMPLEMENTED")
    ]
    assert at_once["02_naive_c/gelu/01_written"][0][2] == "INCOMPLETE"
    tree.run("grade", FRESH="1", CI="")
    assert found(tree) == at_once


def test_nothing_is_compiled_or_imported_for_untouched_starters(tree: Tree) -> None:
    (tree.root / "labs" / "02_naive_c" / "gelu" / "01_written.c").unlink()
    code = (
        "import runpy, sys\n"
        "sys.argv = ['grader', 'grade']\n"
        "try:\n    runpy.run_module('grader', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree.root,
        env={"CONVLAB_BUILD": str(tree.build), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.rstrip().endswith("False"), done.stdout + done.stderr
    assert not (tree.build / "rungs").exists()


def test_only_the_direction_that_was_asked_for_is_told(tree: Tree) -> None:
    tree.run("grade", "01", "CHECK=gradient", CI="")
    assert found(tree)["01_python_function/add/00_own"] == [
        ("gradient", "backward", "NOT_IMPLEMENTED")
    ]


@pytest.mark.parametrize("task", EXTENSIONS, ids=lambda t: t.id)
def test_an_untouched_operator_of_lab_05_is_not_built(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untouched.given, "is_untouched", lambda rung: True)
    (rung,) = task.rungs
    assert untouched.result(rung) is None  # the reference is written
    file = put(tmp_path / rung.file.name, starter(rung.file.read_text()))
    result = untouched.result(replace(rung, file=file))
    assert result and [(c.name, c.direction, c.verdict) for c in result.checks] == [
        ("forward", "forward", Verdict.NOT_IMPLEMENTED),
        ("gradient", "backward", Verdict.NOT_IMPLEMENTED),
    ]


def test_exhibits_that_nobody_named_or_changed_are_told_how_to_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(untouched.given, "is_untouched", lambda rung: True)
    hunt = next(task for task in all_tasks() if task.is_hunt)
    asked = [untouched.exhibit(rung) for rung in hunt.rungs]
    result = TaskResult(hunt, tuple(filter(None, asked)))
    (sentence,) = untouched.waiting([result])
    assert sentence.endswith(f"make grade T={hunt.id} shows which checks they fail")
    monkeypatch.setattr(untouched.given, "is_untouched", lambda rung: False)
    assert untouched.waiting([result]) == []
