# SPDX-License-Identifier: MIT
"""One file of each lab and of a bug hunt gets full marks, however it is handed in:
folder, zip, tar.gz, Gradescope, Autolab. test_handed_in.py lays out all others.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from tests import WHOLE, put
from tests.grader.commands.test_course_handout import HIDDEN, Made, host, packed, run
from tests.grader.commands.test_handed_in import references
from tests.grader.commands.test_handout import repository

__all__ = ["repository"]  # a fixture
COURSE = """name = "five"
title = "Five labs"
begins = 2026-11-01T09:00:00+01:00
[[part]]
id = "week_1"
title = "One"
due_days = 7
[part.tasks]
"01_python_function/add" = { points = 1 }
"02_naive_c/gelu" = { points = 2 }
"02_naive_c/bug_hunt" = { points = 3, rungs = ["00_stretched_slope"] }
"03_im2col_cpu/gelu" = { points = 4, rungs = ["00_libm"] }
"04_cuda_kernels/gelu" = { points = 5, rungs = ["00_grid_stride"] }
"05_torch_extension/gelu" = { points = 6 }
[hidden]
seeds = [730417]
"""
EVERY_TASK = """name = "every"
title = "Every task"
begins = 2026-11-01T09:00:00+01:00
[[part]]
id = "all"
title = "All"
due_days = 7
[part.tasks]
"""
FILES = (
    "01_python_function/add/00_broadcast.py",
    "02_naive_c/gelu/00_definition.c",
    "02_naive_c/bug_hunt/00_stretched_slope.c",
    "02_naive_c/bug_hunt/00_stretched_slope.case.toml",
    "03_im2col_cpu/gelu/00_libm.c",
    "04_cuda_kernels/gelu/00_grid_stride.cu",
    "05_torch_extension/convlab_ext/gelu.py",
    "05_torch_extension/csrc/stable/gelu.cpp",
)
OF = 21


def derived(root: Path, home: Path, text: str) -> Made:
    """A course, and its handout."""
    course, build = put(home / "course.toml", text), home / "build"
    place = {"COURSE": str(course), "CONVLAB_BUILD": str(build)}
    done = run(root, sys.executable, "-m", "grader", "handout", **place)
    assert done.returncode == 0, done.stdout + done.stderr
    name = text.split('"')[1]
    return Made(build / "handout" / name, course, done.stdout)


@pytest.fixture(scope="module")
def made(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return derived(repository, tmp_path_factory.mktemp("five"), COURSE)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """What a student hands in who has solved everything."""
    for name in FILES:
        file = tmp_path / "mine" / "labs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "labs" / name, file)
    return tmp_path / "mine"


def submit(root: Path, made: Made, home: Path, inbox: Path) -> dict[str, dict]:
    """The records of an inbox, by student."""
    place = {"COURSE": str(made.course), "DESK": str(home)}
    place["CONVLAB_BUILD"] = str(made.folder.parents[1])
    command = [sys.executable, "-m", "grader", "submission"]
    for source in inbox.iterdir():
        place |= {"FROM": str(source), "NAME": source.name.partition(".")[0]}
        done = run(root, *command, seconds=7200, **place)
        assert done.returncode == 0, done.stdout + done.stderr
    files = (home / made.folder.name / "records").glob("*.json")
    return {file.stem: json.loads(file.read_text()) for file in files}


def test_a_folder_a_zip_and_a_tar_get_full_marks(made, repository, mine, tmp_path):
    inbox = tmp_path / "inbox"
    shutil.copytree(mine, inbox / "ann")
    packed(mine).rename(inbox / "bob.zip")
    shutil.make_archive(str(inbox / "O'Brien"), "gztar", mine)
    found = submit(repository, made, tmp_path / "desk", inbox)
    assert set(found) == {"ann", "bob", "O%27Brien"}
    for record in found.values():
        assert (record["results"]["points"], record["results"]["of"]) == (OF, OF)
        assert not record["left"]
        assert {name for files in record["files"].values() for name in files} == {
            f"labs/{name}" for name in FILES
        }


def test_gradescope_gives_full_marks_and_tells_nothing_hidden(made, mine, tmp_path):
    put(mine / "labs/02_naive_c/gelu/00_definition (1).c", "an older one")
    answer = host(made, tmp_path / "full", mine)
    assert answer["score"] == OF and len(answer["tests"]) == 6
    assert {test["status"] for test in answer["tests"]} == {"passed"}
    assert "not graded, expected a name of two digits" in answer["output"]
    assert not [word for word in HIDDEN if word in json.dumps(answer)]


def test_autolab_gives_full_marks_and_tells_nothing_hidden(made, mine, tmp_path):
    home = tmp_path / "autolab"
    shutil.copytree(made.folder / "autolab", home)
    (home / "autograde-Makefile").rename(home / "Makefile")  # as Autolab does
    shutil.copy(packed(mine), home / "handin.zip")
    place = {"CONVLAB_BUILD": str(tmp_path / "build"), "PYTHONPATH": ""}
    done = run(home, "make", f"PYTHON={sys.executable}", **place)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert sum(last["scores"].values()) == OF and len(last["scores"]) == 6
    assert last["scores"]["05_torch_extension-gelu"] == 6
    assert not [word for word in HIDDEN if word in done.stdout]


if WHOLE:  # a quarter of an hour; make grade does the same without handing in

    def test_all_references_together_get_full_marks(repository, tmp_path):
        tasks = [f'"{task.id}" = {{ points = 1 }}\n' for task in all_tasks()]
        made = derived(repository, tmp_path, EVERY_TASK + "".join(tasks))
        for name, file in references().items():
            place = tmp_path / "inbox" / "ann" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        (record,) = submit(repository, made, tmp_path, tmp_path / "inbox").values()
        results = record["results"]
        assert results["points"] + results["pending"] == len(tasks)
        assert not record["left"]
