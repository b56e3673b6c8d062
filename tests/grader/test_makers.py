# SPDX-License-Identifier: MIT
"""Whoever makes a product of a build is alone with it.

Each maker is started twice at the same moment, and who is inside of it waits for the
other one to come in as well. Nobody may.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cusim.build
import pytest
from convlab import _native, _snippet

from grader.commands import carry, cli, handout, update
from grader.course import rungs
from grader.course.rungs import ROOT, Rung
from grader.course.tasks import all_tasks
from grader.engine.marks import desk
from grader.handout import course_trees
from grader.toolchain import given, products
from grader.toolchain.build import compiled
from grader.toolchain.extension import kernels, package
from grader.toolchain.linking import Links
from tests import put
from tests.conftest import raising
from tests.grader.toolchain.tiny_course import SOLUTION, Course, forward

PATIENCE = 0.3  # seconds that the first one gives the second one to come in
GELU = "02_naive_c/gelu"


@dataclass
class Meeting:
    """Where two makers meet that are at work at the same time."""

    entered: int = 0
    met: bool = False
    _barrier: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))

    def hold(self) -> None:
        self.entered += 1
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(PATIENCE)
            self.met = True

    def at(self, patch: pytest.MonkeyPatch, place: Any, name: str, act: Any) -> None:
        """Whoever calls this waits here, and then does `act`."""

        def held(*words: Any, **more: Any) -> Any:
            self.hold()
            return act(*words, **more)

        patch.setattr(place, name, held)


Maker = Callable[[], object]
Made = Callable[[Path, pytest.MonkeyPatch, Meeting], tuple[Maker, Maker]]


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with one tiny rung, which the grader takes for its own."""
    shutil.copytree(ROOT / "common", tmp_path / "common")
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    course = Course(tmp_path)
    course.lab("02_naive_c")
    course.file(f"{GELU}/00_definition.c", SOLUTION + forward(20))
    yield tmp_path
    all_tasks.cache_clear()


def rung() -> Rung:
    return next(r for task in all_tasks() for r in task.rungs if r.id.startswith(GELU))


def done(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
    """A program that did what it should without doing anything."""
    return subprocess.CompletedProcess([], 0, "", "")


# ---- the makers ----------------------------------------------------------------------


def given_object(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    meeting.at(patch, given, "_tool", given._tool)
    make = lambda: given.build("gelu", tree / "given")  # noqa: E731
    return make, make


def compiled_for_it(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    from grader.toolchain import build

    meeting.at(patch, build, "run_make", build.run_make)
    make = lambda: build.order_given(rung(), "")  # noqa: E731
    return make, make


def exhibit_as_it_was(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    source, copy = rung().file, tree / "copy.c"
    meeting.at(patch, Path, "write_text", Path.write_text)
    make = lambda: given._derive([source], [copy])  # noqa: E731
    return make, make


def kernels_of_lab_05(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    source = products.objects(rung(), "release")["f32"]
    assert compiled(rung()).libraries
    parts = [(source, {"gelu_forward": "gelu_forward_cpu_f32"})]
    meeting.at(patch, kernels, "_tool", kernels._tool)
    make = lambda: kernels._together(parts, tree / "kernels" / "gelu.o")  # noqa: E731
    return make, make


def what_is_known_of_them(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    patch.setattr(kernels, "_made", lambda *_: kernels.Kernels(None, reason="none"))
    meeting.at(patch, Path, "write_text", Path.write_text)
    make = lambda: kernels.kernels("gelu", "cpu", Links())  # noqa: E731
    return make, make


def rung_in_c(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    meeting.at(patch, products, "run_make", products.run_make)
    make = lambda: compiled(rung())  # noqa: E731
    return make, make


def lab_05(tree: Path) -> Path:
    """A lab that has what a library is made of."""
    lab = tree / "labs" / "05_torch_extension"
    put(lab / "setup.py")
    put(lab / "csrc" / "stable" / "gelu.cpp")
    for name in ("__init__.py", "direct.py", "gelu.py"):
        put(lab / package.NAME / name)
    return lab


def library_of_lab_05(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    lab, folder = lab_05(tree), tree / "graded"

    def set_up(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        put(Path(command[-1]) / package.NAME / "_gelu.abi3.so", "library")
        return done()

    meeting.at(patch, package, "run_compiler", set_up)
    make = lambda: package._library(lab, "gelu", "stable", folder)  # noqa: E731
    return make, make


def package_of_lab_05(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    lab = lab_05(tree)
    one = Rung("05_torch_extension/gelu", lab / "csrc" / "stable" / "gelu.cpp")
    patch.setattr(package, "_called", lambda _: set())
    meeting.at(patch, package.shutil, "copyfile", shutil.copyfile)
    target = tree / "package" / package.NAME
    make = lambda: package._assemble(one, target, Links())  # noqa: E731
    return make, make


def lab_05_in_place(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    meeting.at(patch, package, "run_compiler", done)
    make = lambda: package._set_up(["gelu"], "0")  # noqa: E731
    return make, make


def binding(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    meeting.at(patch, _native, "_make_binding", raising(KeyError()))

    def make() -> None:
        with suppress(KeyError):
            _native._binding.__wrapped__()

    return make, make


def loaded_copy(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    library = put(tree / "x.so", "library")
    find = SimpleNamespace(find=lambda *_: 1)
    patch.setattr(_native, "binding", lambda: find)
    meeting.at(patch, Path, "write_bytes", Path.write_bytes)
    make = lambda: _native.function_in(library, "f")  # noqa: E731
    return make, make


def snippet(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    meeting.at(patch, _snippet.subprocess, "run", subprocess.run)
    make = lambda: _snippet.compile_c("double f(void) { return 1; }")  # noqa: E731
    return make, make


def program_for_cusim(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    def make_it(goal: str, _: dict[str, str]) -> tuple[bool, str]:
        if goal == "all":
            meeting.hold()
        return True, ""

    patch.setattr(cusim.build, "_make", make_it)
    source = put(tree / "x.cu")
    make = lambda: cusim.build.build(source, folder=tree / "cusim")  # noqa: E731
    return make, make


def record_of_a_student(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    """Two of her tasks are graded at the same time: both count."""
    names = ("02_naive_c/add", "02_naive_c/gelu")
    entries = [dict(id=n, core=True, points=1, pending=0, of=1) for n in names]
    kept = desk.Record("alice", {"tasks": []}, {})
    put(desk.file_of(tree, "alice"), "{}")

    def read(file: Path) -> desk.Record:
        text = json.loads(file.read_text())
        return desk.Record("alice", text["results"], {}) if text else kept

    meeting.at(patch, desk, "read", read)
    words: dict[str, Any] = {
        "when": datetime.now(UTC),
        "written": {},
        "made": SimpleNamespace(offers=dict.fromkeys(names)),
    }

    def maker(number: int) -> Maker:
        result = {"tasks": [entries[number]]}
        mine = {**words, "tasks": [names[number]]}
        return lambda: desk.keep(tree, "alice", result, **mine)

    return maker(0), maker(1)


def students_tree(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    patch.setattr(given, "is_handout", lambda: False)
    patch.setattr(course_trees, "asked", lambda _: None)
    patch.setattr(handout, "_names", lambda: ([], []))
    patch.setattr(handout.starters, "pack", lambda new, _: put(new / "file"))
    for name in ("_search", "_write_manifest"):
        patch.setattr(handout, name, lambda *_: None)
    patch.setattr(handout, "_pack", lambda *_: [])
    patch.setattr(handout, "_seal", lambda *_: tree)
    meeting.at(patch, handout, "_give", lambda _: None)
    make = lambda: cli.run("handout")  # noqa: E731
    return make, make


def instructors_tree(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    student = put(tree / "student" / "file").parent
    patch.setattr(course_trees, "hide", lambda *_: None)
    meeting.at(patch, course_trees.shutil, "copytree", shutil.copytree)
    folder = tree / "course"
    make = lambda: course_trees.instructors(student, folder, None, 10**9)  # noqa: E731
    return make, make


def packages_to_carry(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    def fetch(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        put(Path(command[command.index("--target") + 1]) / "rich.py")
        return done()

    meeting.at(patch, carry.subprocess, "run", fetch)
    make = lambda: carry.carry(tree / "build")  # noqa: E731
    return make, make


def renewed_tree(tree: Path, patch: pytest.MonkeyPatch, meeting: Meeting):
    patch.setattr(given, "is_handout", lambda: True)
    put(tree / update.starters.ARCHIVE)
    patch.setenv("FROM", "x.zip")
    patch.setattr(update.renewal, "unpacked", lambda _: None)
    report = update.renewal.Report()
    meeting.at(patch, update.renewal, "renew", lambda *_: report)
    make = lambda: cli.run("update")  # noqa: E731
    return make, make


MAKERS: list[Made] = [
    given_object,
    compiled_for_it,
    exhibit_as_it_was,
    kernels_of_lab_05,
    what_is_known_of_them,
    rung_in_c,
    library_of_lab_05,
    package_of_lab_05,
    lab_05_in_place,
    binding,
    loaded_copy,
    snippet,
    program_for_cusim,
    record_of_a_student,
    students_tree,
    instructors_tree,
    packages_to_carry,
    renewed_tree,
]


@pytest.mark.parametrize("made", MAKERS, ids=[made.__name__ for made in MAKERS])
def test_no_two_makers_of_one_product_work_at_the_same_time(
    tree: Path, monkeypatch: pytest.MonkeyPatch, made: Made
) -> None:
    meeting = Meeting()
    with monkeypatch.context() as patch, ThreadPoolExecutor(2) as pool:
        for run in [pool.submit(make) for make in made(tree, patch, meeting)]:
            run.result(timeout=60)
    assert meeting.entered and not meeting.met
    assert not list(tree.rglob("*.making"))


def test_two_tasks_of_a_student_that_are_graded_together_both_count(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, ThreadPoolExecutor(2) as pool:
        for run in [
            pool.submit(make) for make in record_of_a_student(tree, patch, Meeting())
        ]:
            run.result(timeout=60)
    kept = json.loads(desk.file_of(tree, "alice").read_text())
    assert len(kept["results"]["tasks"]) == 2


# ---- what is read while it is made anew ----------------------------------------------


@pytest.mark.parametrize("ending", ["o", "i", "whole", "so"])
def test_what_make_replaces_stays_whole_for_those_who_read_it(
    tree: Path, ending: str
) -> None:
    """Another rung is linked with an object while it is made once more."""
    course = Course(tree)
    course.lab("03_next", '[rung."gelu/00_call"]', f'uses.plain = "{GELU}"')
    course.file("03_next/gelu/00_call.c", forward("plain"))
    caller = course.rung("03_next/gelu/00_call")
    assert course.built(caller.id).libraries
    file = products.products(caller, "release", ending)["f32"]
    with file.open("rb") as opened:
        before = file.read_bytes()
        course.file("03_next/gelu/00_call.c", f"int gelu;\n{forward('plain')}")
        course.file(f"{GELU}/00_definition.c", SOLUTION + forward(21))
        assert course.built(caller.id).libraries
        assert file.read_bytes() != before and opened.read() == before
