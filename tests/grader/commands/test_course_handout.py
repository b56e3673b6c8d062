# SPDX-License-Identifier: MIT
"""`make handout COURSE=`: each archive is unpacked and graded by itself, untouched (0
points) and with the solutions (all of them); what is hidden is in no students' file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from junitparser import JUnitXml

from grader.course.rungs import ROOT
from grader.errors import GraderError
from grader.handout import course_trees
from grader.operators import get
from tests import put
from tests.grader.commands.test_handout import DATE, repository
from tests.grader.course.offered import TEXT, read
from tests.grader.report.exports.test_exports import GRADESCOPE, commands

__all__ = ["repository"]  # a fixture
TASKS = {
    "01_python_function/add": 10,
    "02_naive_c/gelu": 20,
    "02_naive_c/matmul": 30,
    "02_naive_c/add": 35,
}
HIDDEN = ("hidden_", "730417", "918273", "all the paths")


def run(
    root: Path, *command: str, seconds: int = 900, **place: str
) -> subprocess.CompletedProcess[str]:
    """A command in a tree."""
    variables = {**os.environ, "SOURCE_DATE_EPOCH": DATE, "CI": "", **place}
    return subprocess.run(
        command,
        cwd=root,
        env=variables,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@dataclass(frozen=True)
class Made:
    folder: Path  # build/handout/two_labs
    course: Path
    said: str

    def unpacked(self, name: str, home: Path) -> Path:
        """An archive's contents."""
        home.mkdir(parents=True, exist_ok=True)
        if name.endswith(".zip"):
            with zipfile.ZipFile(self.folder / name) as archive:
                for info in archive.infolist():
                    file = Path(archive.extract(info, home))
                    file.chmod(info.external_attr >> 16)
        else:
            with tarfile.open(self.folder / name) as tar:
                tar.extractall(home, filter="data")
        return home


@pytest.fixture(scope="module")
def made(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    course = put(tmp_path_factory.mktemp("course") / "course.toml", TEXT)
    build = tmp_path_factory.mktemp("handout")
    place = {"COURSE": str(course), "CONVLAB_BUILD": str(build)}
    done = run(repository, sys.executable, "-m", "grader", "handout", **place)
    assert done.returncode == 0, done.stdout + done.stderr
    return Made(build / "handout" / "two_labs", course, done.stdout)


def solutions(folder: Path) -> Path:
    """What a student hands in who has solved everything."""
    for task in TASKS:
        shutil.copytree(ROOT / "labs" / task, folder / "mine" / "labs" / task)
    return folder / "mine"


def packed(folder: Path) -> Path:
    """The same as a zip."""
    return Path(shutil.make_archive(str(folder), "zip", folder))


# ---- what is in it -------------------------------------------------------------------


def test_students_get_the_files_of_the_course_and_its_page(made, tmp_path):
    tree = made.unpacked("convlab-handout.tar.gz", tmp_path) / "convlab-handout"
    files = [*tree.glob("labs/*/*/[0-9]*.*"), *tree.glob("labs/05*/csrc/*/*.cpp")]
    names = {file.relative_to(tree / "labs").as_posix() for file in files}
    assert names == {
        "01_python_function/add/00_broadcast.py",
        "02_naive_c/add/00_broadcast.c",
        "02_naive_c/gelu/00_definition.c",
        "02_naive_c/matmul/00_definition.c",  # and no 01
    }
    page = (tree / "COURSE.md").read_text()
    assert (
        "| `02_naive_c/gelu` | 20 | 1.5 |" in page and "`q1` (5 points): Why?" in page
    )
    assert "Due 2026-11-08 09:00+01:00." in page
    assert "tar czf labs.tar.gz labs" in page and "KEY=..." in page
    front = (tree / "README.md").read_text()
    assert front.startswith("# convlab\n\n**Two labs:** [COURSE.md](COURSE.md) says")
    hints = (tree / "labs/02_naive_c/lab.toml").read_text()
    assert 5 < hints.count("hints = [\n") <= hints.count("\n]\n")
    assert "dot product for each row of input" not in hints  # linear's second
    assert not (tree / "docs/guides/instructors.md").exists()


def test_the_workflow_is_yaml_and_its_steps_are_bash(made):
    file = made.folder / "student/.github/workflows/grade.yml"
    flow = yaml.safe_load(file.read_text())
    assert flow["permissions"] == {"contents": "read"}
    (job,) = flow["jobs"].values()
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    assert len(scripts) == 3 and "make export TO=github,junit" in scripts
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    actions = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(action.startswith("actions/") and "@v" in action for action in actions)


def test_keys_stand_below_the_moment_of_their_release(made):
    keys = (made.folder / "solution-keys.txt").read_text().splitlines()
    assert keys[0] == "# week_1: from 2026-11-10 09:00+01:00"
    assert keys[3] == "# week_2: from 2026-11-17 23:59+01:00"
    named = {line.split("T=")[1].split(" ")[0] for line in keys if "T=" in line}
    assert named == set(TASKS)


# ---- nothing hidden gets out ---------------------------------------------------------


def everything(place: Path) -> str:
    """All that can be read in a folder or an archive."""
    found = course_trees._contents(place)
    return "\n".join(f"{name}\n{data.decode(errors='replace')}" for name, data in found)


@pytest.mark.parametrize(
    "name", ["student", "convlab-handout.tar.gz", "convlab-handout.zip",
             "convlab-solutions.zip"]
)  # fmt: skip
def test_what_is_hidden_is_in_no_students_file(made, name):
    text = everything(made.folder / name)
    assert "make grade" in text or name == "convlab-solutions.zip"
    kept = text.replace('HIDDEN = "hidden_"', "").replace("hidden_lines", "")
    for word in HIDDEN[1:]:
        assert word not in kept, word
    assert "hidden_nine" not in kept and "hidden_seed_2" not in kept


def test_what_is_hidden_is_in_the_instructors_archives(made):
    for name in ("instructor", "convlab-instructor.tar.gz", "convlab-gradescope.zip",
                 "autolab"):  # fmt: skip
        text = everything(made.folder / name)
        assert "hidden_nine" in text and "hidden_seed_2_7" in text, name
        assert "730417" in text and "all the paths" not in text, name


@pytest.mark.parametrize(
    ("leak", "what"),
    [
        ("# a case called hidden_nine\n", "the hidden case 'hidden_nine' of gelu"),
        ('{shapes={ input = [3, 7,\n 9] }, approximate = "tanh"}', "the hidden case"),
        ("SEED=730417", "the hidden seed 730417"),
        ("hidden_seed_2_3", "a case that a hidden seed draws"),
        ("5: it is a sum\n over  all the paths", "the rubric of q1"),
    ],
)
@pytest.mark.parametrize("packing", ["plain", "zip in tar"])
def test_a_leak_is_found_wherever_it_lies(tmp_path, leak, what, packing):
    made = read(tmp_path)
    file = put(tmp_path / "tree" / "labs" / "notes.txt", f"x {leak} y")
    if packing != "plain":
        inner = shutil.make_archive(
            str(tmp_path / "tree" / "inner"), "zip", file.parent
        )
        file.unlink()
        shutil.make_archive(str(tmp_path / "outer"), "gztar", tmp_path / "tree")
        assert Path(inner).exists()
    place = tmp_path / ("tree" if packing == "plain" else "outer.tar.gz")
    with pytest.raises(GraderError, match=f"would give away {what}"):
        course_trees.search([place], made)


def test_a_number_that_only_holds_a_seed_is_no_leak(tmp_path):
    put(tmp_path / "tree" / "a.txt", "17304171 hidden_ninety 5: a sum")
    course_trees.search([tmp_path / "tree"], read(tmp_path))


def test_a_case_that_cannot_be_computed_is_refused_with_its_line(tmp_path):
    wrong = TEXT.replace('approximate = "tanh" }', "approximate = 1 }")
    named = str(put(tmp_path / "course.toml", wrong))
    with pytest.raises(GraderError, match=r"course.toml:31: .*cannot be computed"):
        course_trees.asked(named)
    wrong = TEXT.replace("shapes = { input", "shepes = { input")
    put(tmp_path / "course.toml", wrong)
    with pytest.raises(GraderError, match="unknown key 'shepes'"):
        course_trees.asked(named)
    for old, new, says in (
        ("[3, 7, 9]", "[3, -7, 9]", "the shape of 'input' must be a list of sizes"),
        ("[3, 7, 9]", '"3x7"', "the shape of 'input' must be a list of sizes"),
        (
            "{ input = [3",
            "{ x = [3",
            "'shapes' has 'x', which is not an input; the inputs are input",
        ),
        ("{ input = [3, 7, 9] }", "3", "'shapes' must be a table like { input = "),
    ):
        put(tmp_path / "course.toml", TEXT.replace(old, new))
        with pytest.raises(GraderError, match=f"course.toml:31: .*{re.escape(says)}"):
            course_trees.asked(named)


def test_a_hidden_seed_draws_what_a_run_with_it_draws(tmp_path):
    lines = course_trees.hidden_lines(read(tmp_path))["gelu"]
    assert [line["name"] for line in lines[:2]] == ["hidden_nine", "hidden_seed_2_0"]
    operator = get("gelu")
    drawn = operator.cases(918273)[-course_trees.DRAWN :]
    made = [operator.case({**line, "name": "x"}) for line in lines[1:]]
    assert [case.shapes for case in made] == [case.shapes for case in drawn]


# ---- each archive grades by itself ---------------------------------------------------


def graded(tree: Path, build: Path) -> dict[str, Any]:
    """A tree's results, of its own command."""
    place = {"CONVLAB_BUILD": str(build), "SPEED": "off", "PYTHONPATH": ""}
    run(tree, "make", "grade", f"PYTHON={sys.executable}", **place)
    return json.loads((build / "grade" / "results.json").read_text())


@pytest.mark.parametrize("name", ["convlab-handout.zip", "convlab-instructor.tar.gz"])
def test_a_tree_gives_0_points_and_with_the_solutions_all(made, tmp_path, name):
    tree = made.unpacked(name, tmp_path) / name.split(".")[0]
    found = graded(tree, tmp_path / "first")
    assert (found["points"], found["of"], found["pending"]) == (0, 95, 0)
    shutil.copytree(solutions(tmp_path), tree, dirs_exist_ok=True)
    found = graded(tree, tmp_path / "second")
    assert (found["points"], found["of"], found["extra"]) == (95, 95, 0)
    assert {task["id"]: task["of"] for task in found["tasks"]} == TASKS
    place = {"CONVLAB_BUILD": str(tmp_path / "first"), "PYTHONPATH": ""}
    done = run(
        tree, "make", "export", "TO=github,junit", f"PYTHON={sys.executable}", **place
    )
    assert done.returncode == 0, done.stderr
    annotations = commands(done.stdout)
    assert annotations[-1][2] == "0 of 95 points" and len(annotations) == 9
    assert {kind for kind, _, _ in annotations} == {"notice"}  # nothing is written yet
    (suites,) = (tmp_path / "first").rglob("junit.xml")
    assert len(list(JUnitXml.fromfile(str(suites)))) == len(TASKS)


def test_a_submission_is_graded_from_a_clean_copy_and_kept(made, repository, tmp_path):
    mine = solutions(tmp_path)
    put(mine / "labs/02_naive_c/lab.toml", "points = 1000")
    place = {
        "COURSE": str(made.course),
        "FROM": str(packed(mine)),
        "NAME": "Ali Ce",
        "WHEN": "2026-11-08T10:00:00+01:00",
        "DESK": str(tmp_path / "desk"),
        "CONVLAB_BUILD": str(made.folder.parents[1]),
    }
    command = [sys.executable, "-m", "grader", "submission"]
    done = run(repository, *command, **place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "02_naive_c/gelu                  20 of 20\n" in done.stdout
    (page,) = (tmp_path / "desk/two_labs/records").glob("*.html")
    assert "<title>Ali Ce: 95 of 95 points</title>" in page.read_text()
    assert "Ali Ce: 5 files graded in the sandbox" in done.stdout
    (record,) = (tmp_path / "desk/two_labs/records").glob("*.json")
    kept = json.loads(record.read_text())
    assert kept["results"]["points"] == 95 and kept["results"]["seed"] == 730417
    assert set(kept["handed_in"].values()) == {"2026-11-08T09:00:00+00:00"}
    assert not list((made.folder.parents[1] / "submissions/two_labs").iterdir())
    for words, says in (
        ({"PART": "week_9"}, "PART= names 'week_9', expected week_1, week_2"),
        ({"WHEN": "soon"}, "WHEN= is 'soon', expected a date"),
        ({"NAME": ""}, "name the submission and the student"),
        ({"CONVLAB_BUILD": str(tmp_path)}, "there is no handout of this course yet"),
    ):
        done = run(repository, *command, **{**place, **words})
        assert done.returncode == 2 and says in done.stderr, done.stderr


def host(made: Made, home: Path, handed: Path | None) -> dict[str, Any]:
    """Gradescope: its folders, and its run_autograder on a submission."""
    source = made.unpacked("convlab-gradescope.zip", home / "source")
    (home / "results").mkdir()
    (home / "submission").mkdir()
    if handed:
        shutil.copy(handed, home / "submission") if handed.is_file() else (
            shutil.copytree(handed, home / "submission", dirs_exist_ok=True)
        )
    place = {"AUTOGRADER": str(home), "PYTHON": sys.executable, "PYTHONPATH": ""}
    place["CONVLAB_BUILD"] = str(home / "build")
    done = run(home, str(source / "run_autograder"), **place)
    assert done.returncode == 0, done.stderr
    answer = json.loads((home / "results" / "results.json").read_text())
    jsonschema.validate(answer, GRADESCOPE)
    return answer


def test_gradescope_gives_starters_no_points(made, tmp_path):
    starters = made.unpacked("convlab-handout.zip", tmp_path) / "convlab-handout"
    answer = host(made, tmp_path / "none", starters)
    assert answer["score"] == 0
    for test in answer["tests"]:
        assert "NOT_IMPLEMENTED" in test["output"]


def test_code_that_knows_the_public_cases_fails_the_hidden_one(made, tmp_path):
    mine = solutions(tmp_path)
    file = mine / "labs/02_naive_c/gelu/00_definition.c"
    text = file.read_text()
    head = text.index("{", text.index("status_t gelu_forward"))
    trick = (
        "{\n    if (output->ndim == 3 && output->size[1] == 7 && output->size[2] == 9)"
        "\n        return STATUS_OK;\n"
    )
    file.write_text(text[:head] + trick + text[head + 1 :])
    answer = host(made, tmp_path / "host", mine)
    (gelu,) = [test for test in answer["tests"] if "gelu" in test["name"]]
    assert gelu["score"] == 10  # backward has passed
    assert "INCOMPLETE" in gelu["output"]
    assert "it ended early or left elements unwritten" in gelu["output"]
    answer_text = json.dumps(answer)
    assert not [word for word in HIDDEN if word in answer_text]
    # the students' own tree does not notice
    tree = made.unpacked("convlab-handout.zip", tmp_path) / "convlab-handout"
    shutil.copytree(mine, tree, dirs_exist_ok=True)
    assert graded(tree, tmp_path / "own")["points"] == 95


def test_gradescope_gets_an_answer_for_what_cannot_be_graded(made, tmp_path):
    answer = host(made, tmp_path / "empty", None)
    assert answer["score"] == 0 and "Hand in the folder labs" in answer["output"]
    broken = put(tmp_path / "broken.zip", "PK no zip")
    answer = host(made, tmp_path / "broken", broken)
    assert answer["output"].startswith("broken.zip cannot be read as a folder, a .zip")


def test_autolab_gets_a_line_of_scores_for_what_cannot_be_graded(made, tmp_path):
    home = tmp_path / "autolab"
    shutil.copytree(made.folder / "autolab", home)
    (home / "autograde-Makefile").rename(home / "Makefile")  # as Autolab does
    (home / "handin.zip").write_text("nothing")
    done = run(home, "make", f"PYTHON={sys.executable}", PYTHONPATH="")
    assert json.loads(done.stdout.splitlines()[-1]) == {"scores": {}}
