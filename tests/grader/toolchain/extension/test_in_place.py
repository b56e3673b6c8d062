# SPDX-License-Identifier: MIT
"""`make build LAB=05` builds what has changed, and nothing where nothing has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.toolchain import gpu_probe
from grader.toolchain.extension import kernels, package
from grader.toolchain.linking import Links
from tests import put
from tests.labs.extension import LAB

NAMES = ["add", "matmul"]


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Path:
    """A copy of the lab, where the steps of a build write down that they were taken."""
    folder = tmp_path / "lab"
    shutil.copytree(LAB, folder, ignore=shutil.ignore_patterns("*.so", "build"))
    taken = tmp_path / "taken"
    taken.touch()

    def run(command, **_):
        (chosen,) = [w for w in command if w.startswith("OPERATORS=")]
        for name in chosen.removeprefix("OPERATORS=").split(","):
            (folder / "convlab_ext" / f"_{name}.abi3.so").write_text(name)
        write(chosen)
        return subprocess.CompletedProcess(command, 0, "", "")

    def write(step: str) -> None:
        taken.write_text(f"{taken.read_text()}{step}\n")

    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("CUDA", "0")
    monkeypatch.setattr(kernels, "LAB", folder)
    monkeypatch.setattr(package, "run_compiler", run)
    monkeypatch.setattr(kernels, "kernels", lambda name, *_: write(f"kernels {name}"))
    return folder


def steps(lab: Path) -> list[str]:
    """What a build has done."""
    package.in_place(NAMES, Links())
    taken = lab.parent / "taken"
    found = taken.read_text().split("\n")[:-1]
    taken.write_text("")
    return found


KERNELS = ["kernels add", "kernels matmul"]


@pytest.mark.parametrize(
    ("file", "built"),
    [
        ("csrc/stable/add.cpp", "add"),
        ("convlab_ext/_matmul.abi3.so", "matmul"),
        ("csrc/windows.h", "add,matmul"),
        ("csrc/stable/bridge.h", "add,matmul"),
        ("setup.py", "add,matmul"),
    ],
)
def test_what_has_changed_is_built_again_and_nothing_else(
    lab: Path, file: str, built: str
):
    assert steps(lab) == [*KERNELS, "OPERATORS=add,matmul"]
    assert steps(lab) == []
    with (lab / file).open("a") as changed:
        changed.write("\n")
    assert steps(lab) == [*KERNELS, f"OPERATORS={built}"]
    assert steps(lab) == []


def test_other_rungs_are_looked_for_when_any_source_has_changed(lab: Path, monkeypatch):
    steps(lab)
    monkeypatch.setattr(package, "_sources", lambda _: "others")
    assert steps(lab) == KERNELS
    assert steps(lab) == []


def test_a_build_that_failed_is_tried_again(lab: Path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "x.cpp:3:1: error: no\n", "")
    with monkeypatch.context() as patch:
        patch.setattr(package, "run_compiler", lambda *_, **__: failed)
        assert "not built: " in package.in_place(NAMES, Links())[0]
    assert "OPERATORS=add,matmul" in steps(lab)


def test_the_steps_before_are_built_for_the_processor(lab: Path, monkeypatch):
    ran: list[list[str]] = []

    def fails(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(
            command, 1, "csrc/aten/add.cpp:7:1: error: so\n"
        )

    monkeypatch.setattr(package, "run_compiler", fails)
    said = package.earlier_steps(["add"], Links())
    assert said == "not built: csrc/aten/add.cpp:7: so"
    assert {"OPERATORS=add", "STEPS=pybind,aten", "CUDA=0"} <= set(ran[0])


def test_a_toolkit_of_its_own_is_seen_where_the_library_is_built(monkeypatch, tmp_path):
    nvcc = put(tmp_path / "opt" / "cuda" / "bin" / "nvcc")
    kit = gpu_probe.Toolkit(nvcc, nvcc.parents[1] / "include", nvcc)
    seen: list[Path] = []

    def run(command, *, also, **_):
        seen.extend(also)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(gpu_probe, "card", lambda: kit)  # there is one
    monkeypatch.setattr(gpu_probe, "toolkit", lambda: kit)
    monkeypatch.setattr(package, "run_compiler", run)
    package._built(kernels.LAB, "add", "stable", tmp_path / "add" / "lib", None, "")
    assert nvcc.parents[1] in seen
