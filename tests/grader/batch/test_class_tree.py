# SPDX-License-Identifier: MIT
"""The tree of a class is copied for each submission, with the grader's programs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.batch import class_tree
from grader.handout import course_trees
from grader.toolchain import cusim, make
from grader.toolchain.extension import precompiled
from tests import ROOT

BUILT = ("tools", "cusim/runtime")  # in the build folder


def built(folder: Path) -> dict[str, int]:
    """When each program and library of a build folder was written."""
    files = [file for part in BUILT for file in (folder / part).rglob("*")]
    return {
        str(file.relative_to(folder)): file.stat().st_mtime_ns
        for file in files
        if file.suffix in (".o", ".so") or file.name.startswith("worker")
    }


def test_a_copy_has_the_programs_and_builds_none_of_them_again(tmp_path: Path) -> None:
    make.build_tools()
    cusim.build_tools()
    product = tmp_path / "class"
    for name in ("common", "grader"):
        shutil.copytree(ROOT / name, product / "tree" / name)
    for part in BUILT:
        shutil.copytree(make.build_folder() / part, product / "build" / part)
    tree, build = class_tree.copied(product, tmp_path / "room")
    before = built(build)
    assert "cusim/runtime/g++-run/libcusim.so" in before
    words = ["make", "-s", "-f", make.TOOLS, f"BUILD={build}", "all", "cuda"]
    subprocess.run([*words, "CXX=g++"], cwd=tree, check=True)
    assert built(build) == before


def test_the_header_of_torch_compile_is_compiled_once_for_all_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Path] = []

    def compiles(file: Path, _: object) -> bool:
        file.write_text("the header")
        compiled.append(file)
        return True

    monkeypatch.setattr(precompiled, "_compiled", compiles)
    product = tmp_path / "class"
    (product / "tree").mkdir(parents=True)
    monkeypatch.setenv("CONVLAB_BUILD", str(product / "build"))
    precompiled.make()
    for student in ("ada", "bob"):
        _, build = class_tree.copied(product, tmp_path / student)
        monkeypatch.setenv("CONVLAB_BUILD", str(build))
        found = precompiled.header({})
        assert found and found.is_relative_to(build)
        assert found.read_text() == "the header"
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("task", "made"),
    [
        ("02_naive_c/add", []),
        ("04_cuda_kernels/add", ["cusim"]),
        ("05_torch_extension/add", ["precompiled"]),
    ],
)
def test_a_class_gets_the_programs_of_its_labs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, made: list[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(class_tree, "_run", lambda _, *words: ran.extend(words))
    monkeypatch.setattr(course_trees, "hide", lambda *_: None)
    (tmp_path / "student").mkdir()
    course: Any = SimpleNamespace(offers={task: None})
    class_tree.make(tmp_path, tmp_path / "student", course, "key")
    program = ran[-1]
    calls = {"cusim": "cusim.build_tools()", "precompiled": "precompiled.make()"}
    assert [name for name, call in calls.items() if call in program] == made
