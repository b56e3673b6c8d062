# SPDX-License-Identifier: MIT
"""What students get: works, is complete, and gives no solution away.

The handout is made in a copy of the repository that git tracks whole, so that these
tests say what a commit of the present files would ship.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
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

import pytest

from grader.commands import handout
from grader.course.exhibits import HUNT
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from grader.handout import leaks
from grader.toolchain import given
from tests import WHOLE, put
from tests.house.test_style import MAKE_COMMAND, starter

DATE = "1700000000"  # SOURCE_DATE_EPOCH of the archives
AT_HOME = {  # they work in the repository, and say so
    "grader/handout/course_trees.py",
    *(
        f"grader/commands/{name}.py"
        for name in ("handout", "autograde", "submission", "batch", "marks")
    ),
}
RUNGS = sorted(rung.file for task in all_tasks() for rung in task.rungs)


def run(
    root: Path, *command: str, build: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A command in a tree that builds into its own folder."""
    place = {"CONVLAB_BUILD": str(build or root / "build"), "SOURCE_DATE_EPOCH": DATE}
    return subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **place},
        capture_output=True,
        text=True,
        timeout=300,
    )


def grader(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(root, sys.executable, "-m", "grader", *arguments)


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """The files of this repository, all of them tracked, and a few that are not."""
    root = tmp_path_factory.mktemp("repository")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True).stdout
    names = [name for name in listed.split("\0") if name] or [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*")
        if not re.search(r"(^|/)(build|\.venv|\.git|[^/]*cache[^/]*)/", f"{path}/")
    ]
    for name in names:
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, put(root / name))
    tracked(root)
    put(root / "labs/02_naive_c/gelu/07_private.c", "// my own try\n")
    put(root / "grader" / "secret_answers.py")
    put(root / "grader" / "weiß_alles.py")
    return root


@dataclass(frozen=True)
class Handout:
    tree: Path  # unpacked elsewhere, as a student has it
    folder: Path  # build/handout
    said: str

    @property
    def files(self) -> set[str]:
        found = (p for p in self.tree.rglob("*") if p.is_file())
        names = {str(path.relative_to(self.tree)) for path in found}
        return {n for n in names if not re.search(r"^build/|__pycache__", n)}


@pytest.fixture(scope="module")
def made(repository, tmp_path_factory) -> Handout:
    done = grader(repository, "handout")
    assert done.returncode == 0, done.stdout + done.stderr
    folder = repository / "build" / "handout"
    home = tmp_path_factory.mktemp("student")
    with tarfile.open(folder / "convlab-handout.tar.gz") as archive:
        archive.extractall(home, filter="data")
    return Handout(home / "convlab-handout", folder, done.stdout)


# ---- what is in it -------------------------------------------------------------------


def test_the_manifest_lists_every_file_with_its_hash(made):
    lines = (made.tree / "MANIFEST").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert set(listed) == made.files - {"MANIFEST"}
    for name, digest in listed.items():
        assert hashlib.sha256((made.tree / name).read_bytes()).hexdigest() == digest


def test_nothing_is_in_it_that_the_allow_list_does_not_name(made):
    extra = {n for n in made.files if not handout.allowed(n)}
    assert {n for n in extra if not n.startswith("given/")} == {"MANIFEST"}
    parts = ("tests", "docs/decisions", ".git", ".ci")
    assert not [part for part in parts if (made.tree / part).exists()]
    assert {"Makefile", "LICENSE", "common/operators.h", "docs/LICENSE"} <= made.files
    results = {f.name for f in (made.tree / "docs" / "results").iterdir()}
    assert results == {"03_im2col_cpu.md"}  # the README of the lab leads to it
    beside = {str(f.relative_to(ROOT)) for f in ROOT.glob("labs/*/*/*.h")}
    assert beside and beside <= made.files


def test_a_file_that_git_does_not_track_stays_at_home_and_is_named(made):
    names = {"labs/02_naive_c/gelu/07_private.c", "grader/secret_answers.py"}
    assert not {*names, "grader/weiß_alles.py"} & made.files
    assert "left out, because git does not track them: grader/secret_" in made.said
    assert "grader/weiß_alles.py" in made.said


def tracked(root: Path) -> Path:
    """A folder whose files git tracks, all of them."""
    for words in ("init -q", "add -A"):
        subprocess.run(["git", *words.split()], cwd=root, check=True, timeout=60)
    return root


def test_a_tracked_file_is_shipped_whatever_its_name_is(tmp_path, monkeypatch):
    name = "docs/guides/größe und\ttabulator.md"
    put(tmp_path / name)
    monkeypatch.setattr(handout, "ROOT", tracked(tmp_path))
    assert handout._names() == ([name], [])


def test_every_rung_of_the_repository_has_its_starter(made):
    assert len(RUNGS) > 20
    for file in RUNGS:
        name = str(file.relative_to(ROOT))
        assert (made.tree / name).read_text() == handout.warned(name, starter(name))


def test_a_starter_with_limits_says_what_too_much_traffic_costs():
    limited = [rung for task in all_tasks() for rung in task.rungs if rung.traffic]
    assert len(limited) > 30
    for rung in limited:
        text = handout.warned(rung.shown, starter(rung.shown))
        head = text.partition("*/")[0]
        assert "the verdict is\n * TRAFFIC. It then gets no points" in head, rung.shown
    free = "labs/02_naive_c/add/00_broadcast.c"
    assert "TRAFFIC" not in handout.warned(free, starter(free))


def test_both_archives_hold_the_same_and_are_the_same_every_time(made, repository):
    with tarfile.open(made.folder / "convlab-handout.tar.gz") as tar:
        packed = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
        assert {(m.mtime, m.uid, m.uname) for m in tar.getmembers()} == {
            (int(DATE), 0, "")
        }
    with zipfile.ZipFile(made.folder / "convlab-handout.zip") as archive:
        assert {n: archive.read(n) for n in archive.namelist()} == packed
    assert len(packed) == len(made.files)

    archives = sorted(made.folder.glob("convlab-handout.*"))
    before = [path.read_bytes() for path in archives]
    for path in repository.rglob("*.py"):
        path.touch()
    for path in (repository / "build" / "given").rglob("gelu.*"):
        path.unlink()
    assert grader(repository, "handout").returncode == 0
    assert [path.read_bytes() for path in archives] == before
    assert gzip.decompress(before[0])


def test_every_link_in_a_text_leads_somewhere(made):
    bad, count = [], 0
    for name in sorted(n for n in made.files if n.endswith(".md")):
        text = (made.tree / name).read_text()
        for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
            count += 1
            if not ((made.tree / name).parent / link).exists():
                bad.append(f"{name}: {link}")
    assert not bad
    assert count > 10
    assert "<!--" not in (made.tree / "README.md").read_text()


def test_help_lists_what_works_and_texts_name_nothing_else(made):
    said = run(made.tree, "make", "help").stdout
    targets = set(re.findall(r"^  make ([a-z-]+) ", said, re.M))
    assert {"grade", "hint", "debug", "build", "doctor", "clean"} <= targets
    assert not {t for t in targets if handout.WITHHELD.fullmatch(t)}
    for target in targets:
        done = run(made.tree, "make", "-n", target, f"PYTHON={sys.executable}")
        assert done.returncode == 0, done.stderr
        for verb in re.findall(r"-m grader (\w+)", done.stdout):
            assert grader(made.tree, verb, "--help").returncode == 0
    bad = []
    for name in sorted(made.files):
        text = "" if name.endswith((".a", ".zip")) else (made.tree / name).read_text()
        if name.startswith(("grader", "common")) and name not in AT_HOME:
            withheld = rf"\bmake ({handout.WITHHELD.pattern})\b"
            said = re.sub(r"(#|//).*", "", text)
            bad += [
                f"{name}: make {one}"
                for one in re.findall(withheld, said)
                if name != f"grader/commands/{one}.py"
            ]
        if name.endswith(".md") or name.startswith("labs"):
            named = set(map("".join, MAKE_COMMAND.findall(text)))
            bad += [f"{name}: make {one}" for one in sorted(named - targets)]
    assert not bad


def test_neither_help_nor_a_page_names_a_command_of_the_repository_alone(made):
    listed = [
        set(re.findall(r"(?m)^([a-z][a-z-]*):.*## ", (root / "Makefile").read_text()))
        for root in (ROOT, made.tree)
    ]
    withheld = "|".join(listed[0] - listed[1])
    assert "test" in withheld
    help_text = run(made.tree, "make", "help").stdout
    more = "\n".join(line for line in help_text.splitlines() if "  make " not in line)
    assert not re.findall(rf"\b({withheld})\b", more)
    pages = [name for name in made.files if name.endswith(".md")]
    assert len(pages) > 10
    for name in pages:
        found = re.findall(rf"`({withheld})`", (made.tree / name).read_text())
        assert not found, name


def test_a_handout_makes_no_handout(made):
    done = grader(made.tree, "handout")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "this is a handout; run make handout" in done.stderr


# ---- it works ------------------------------------------------------------------------


def test_starters_compile_without_a_warning(made):
    files = sorted(made.tree.glob("labs/*/*/[0-9]*.c"))
    assert len(files) == len([file for file in RUNGS if file.suffix == ".c"]) > 10
    # an exhibit is complete, and perhaps calls rungs that it is linked with
    starters = [file for file in files if file.parent.name != HUNT]
    for file in starters:
        name = str(file.relative_to(made.tree))
        command = ["make", "-s", "-f", "common/rung.mk", "MODE=strict", f"RUNG={name}"]
        command.append("EXTRA=-Wno-unused-parameter")  # nothing is used yet
        command.append("objects")  # some call a lower file, which the grader links
        done = run(made.tree, *command)
        assert done.returncode == 0, done.stdout + done.stderr


def test_at_first_there_are_0_points_and_afterwards_all_of_them(made, tmp_path):
    # an untouched starter is known by its text; WHOLE=1 asks each of them
    asked = {"CI": "", "FRESH": "1" if WHOLE else ""}
    place = {**os.environ, "CONVLAB_BUILD": str(made.tree / "build"), **asked}
    command = ["make", "grade", f"PYTHON={sys.executable}"]
    done = subprocess.run(
        command, cwd=made.tree, env=place, capture_output=True, text=True, timeout=1800
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "make:" not in said  # a table was printed
    assert "Traceback" not in said
    results = json.loads((made.tree / "build/grade/results.json").read_text())
    verdicts = {
        check["verdict"]
        for task in results["tasks"]
        if not (WHOLE and task["id"].endswith(HUNT))  # asked then, complete and wrong
        for rung in task["rungs"]
        for check in rung["checks"]
    }
    assert verdicts == {"NOT_IMPLEMENTED"}, said
    assert (results["points"], results["pending"], results["extra"]) == (0, 0, 0)
    assert {t["id"] for t in results["tasks"]} == {t.id for t in all_tasks()}

    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    for ladder in ("01_python_function/add", "02_naive_c/gelu"):
        for file in (ROOT / "labs" / ladder).iterdir():
            shutil.copy2(file, tree / "labs" / ladder)  # older than what was built
        done = grader(tree, "grade", ladder)
        results = json.loads((tree / "build/grade/results.json").read_text())
        (task,) = [t for t in results["tasks"] if t["id"] == ladder]
        seen = {c["verdict"] for r in task["rungs"] for c in r["checks"]}
        assert seen == {"PASS"}, done.stdout
        assert task["points"] + task["pending"] == task["of"], done.stdout  # speed


def test_an_exhibit_is_asked_when_it_is_named_or_changed(made, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # there everything is asked
    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    hunt, exhibit = "02_naive_c/bug_hunt", "02_naive_c/bug_hunt/00_stretched_slope"

    def seen(wanted: str) -> dict[str, str]:
        done = grader(tree, "grade", wanted)
        assert "Traceback" not in done.stdout + done.stderr
        results = json.loads((tree / "build/grade/results.json").read_text())
        (task,) = [t for t in results["tasks"] if t["id"] == hunt]
        (rung,) = [r for r in task["rungs"] if r["id"] == exhibit]
        wrong = any(check["verdict"] != "PASS" for check in rung["checks"])
        assert task["points"] == (0 if wrong else 1) and task["pending"] == 0
        return {check["direction"]: check["verdict"] for check in rung["checks"]}

    no = "NOT_IMPLEMENTED"
    assert seen("02") == {"backward": no, "case": no}
    assert seen(exhibit)["backward"] == "MEMORY_ERROR"
    case = tree / f"labs/{exhibit}.case.toml"
    case.write_text(f"{case.read_text()}# mine\n")
    for file in (tree / "labs/02_naive_c").glob("*/*.c"):
        if file.stem != case.name.partition(".")[0]:
            file.unlink()  # what is left of the lab is this exhibit
    assert seen("02")["backward"] == "MEMORY_ERROR"
    for name in (f"labs/{exhibit}.c", f"labs/{exhibit}.case.toml"):
        shutil.copy2(ROOT / name, tree / name)
    for _ in range(2):  # the second time the answers are remembered
        assert seen(exhibit) == {"backward": "PASS", "case": "PASS"}


def test_the_first_hour_is_as_its_page_tells(made, tmp_path, monkeypatch):
    """Its verdicts, not its times. The first command is the one of the test above."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "docs")])
    recorder = importlib.import_module("record_first_hour")
    page = recorder.PAGE.read_text()
    first = "<!-- run: make grade LAB=02 -->"
    assert page.count("<!-- run: ") == 5 and "NOT_IMPLEMENTED" in page.split(first)[1]
    page = page.replace(first, "")
    tree = tmp_path / "tree"
    shutil.copytree(made.tree, tree)
    again = recorder.recorded(page, tree)
    assert recorder.verdicts(again) == recorder.verdicts(page)
    assert "<!--" not in (made.tree / "docs/guides/first_hour.md").read_text()


# ---- it gives nothing away (more in test_leaks.py) -----------------------------------


def test_no_line_of_a_solution_is_anywhere_in_it(made):
    assert leaks.find(made.tree, leaks.solution_lines(RUNGS)) == []


# ---- given objects -------------------------------------------------------------------


def test_a_given_object_holds_code_and_two_names_only(made):
    archives = sorted((made.tree / "given" / given.arch()).glob("*.a"))
    # neither a ladder of views nor a bug hunt has a given object
    ladders = [t for t in all_tasks() if t.lab == given.LAB and not t.is_hunt]
    operators = {task.operator for task in ladders if not task.functions}
    assert {path.name for path in archives} == {
        f"{operator}.{dtype}.a" for operator in operators for dtype in ("f32", "f64")
    }
    text = (archives[0].parent / "README.md").read_text()
    assert "no source" in text and "Licence: MIT" in text
    for path in archives:
        operator = path.name.split(".")[0]
        nm = subprocess.run(["nm", str(path)], capture_output=True, text=True).stdout
        defined = set(re.findall(r"^\w+ [A-TV-Za-z] (.*)$", nm, re.M))
        own = {name for name in defined if not re.fullmatch(r"\.LC\d+", name)}
        assert own == {f"{operator}_forward", f"{operator}_backward"}
        assert not re.search(
            rb"\.debug|\.comment|GCC: |clang|/\w+/\w+|\.c\b|labs", path.read_bytes()
        )


def test_without_git_the_folders_decide_and_a_sentence_says_so(
    made, tmp_path, monkeypatch, capsys
):
    shutil.copytree(made.tree / "common", tmp_path / "common")
    put(tmp_path / "tests" / "x.py")
    monkeypatch.setattr(handout, "ROOT", tmp_path)
    names, left_out = handout._names()
    assert "common/operators.h" in names and not left_out
    assert not [name for name in names if name.startswith("tests")]
    assert "this is not a git repository" in capsys.readouterr().out
