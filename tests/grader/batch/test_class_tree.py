# SPDX-License-Identifier: MIT
"""The tree of a class is copied for each submission, with the grader's programs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from grader.batch import class_tree
from grader.toolchain import cusim, make
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
