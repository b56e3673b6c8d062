# SPDX-License-Identifier: MIT
"""Rungs become kernels: compiled several at once, each with a line, for each level."""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

import pytest
from ladders import Refusal, rung_objects
from ladders.joined import joined
from ladders.linked_parts import Linked

from grader.course.rungs import ROOT

LAB = ROOT / "labs" / "05_torch_extension"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def maker(tmp_path: Path, said: list[str]) -> rung_objects.Maker:
    return rung_objects.Maker(ROOT, LAB, tmp_path, said.append)


def exported(files: list[Path]) -> set[str]:
    command = ["nm", "-g", "--defined-only", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(re.findall(r" T (\w+)$", done.stdout, re.MULTILINE))


def test_a_rung_that_no_kernel_needs_is_not_compiled(maker, said, monkeypatch):
    monkeypatch.setattr(maker, "_one", lambda rung, variant: "")
    monkeypatch.setattr(maker, "_linked", lambda *_: [])
    maker.kernels(["linear", "add"], rung_objects.native())
    assert sorted(line.split("] compiled ")[1] for line in said) == [
        "labs/03_im2col_cpu/add/01_vectors.c",  # for what 02_streamed leaves
        "labs/03_im2col_cpu/add/02_streamed.c",
        "labs/03_im2col_cpu/linear/00_matmul.c",  # for backward
        "labs/03_im2col_cpu/linear/01_fused_bias.c",
        "labs/03_im2col_cpu/matmul/05_packed.c",
    ]
    assert said[0].startswith("[1/5]")


def test_several_are_compiled_at_once(maker, monkeypatch):
    monkeypatch.setenv("MAX_JOBS", "2")
    together = threading.Barrier(2, timeout=60)  # breaks if one waits for another

    def compile(rung, variant):
        together.wait()
        return ""

    monkeypatch.setattr(maker, "_one", compile)
    monkeypatch.setattr(maker, "_linked", lambda *_: [])
    maker.kernels(["add"], rung_objects.native())


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_only_the_functions_of_the_table_can_be_seen(maker, said, monkeypatch, machine):
    """A wheel for a machine without levels has one set, for each such processor."""
    monkeypatch.setattr(rung_objects.platform, "machine", lambda: machine)
    monkeypatch.setitem(rung_objects.LEVELS, "x86_64", {"_v3": "", "_v4": ""})
    found = maker.kernels(["add"], rung_objects.of_a_wheel())["add", "cpu"]
    assert found.served == dict.fromkeys(
        ("forward", "backward"), "03_im2col_cpu/add/02_streamed"
    )
    ends = ["_v3", "_v4"] if machine == "x86_64" else [""]
    assert exported(found.files) == {
        f"add_{direction}_cpu_{dtype}{end}"
        for direction in ("forward", "backward")
        for dtype in ("f32", "f64")
        for end in ends
    }
    assert len(said) == 2 * len(ends)


def test_no_flag_of_a_wheel_names_this_machine():
    for variant in rung_objects.of_a_wheel():
        command = ["make", "-s", "RUNG=x", *variant.order, "flags"]
        flags = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert "-O3" in flags.stdout and "native" not in flags.stdout


def test_a_rung_that_does_not_compile_is_told_and_a_lower_one_serves(
    maker, said, monkeypatch
):
    usual = maker._one

    def compile(rung, variant):
        failed = "02_streamed" in rung.id
        return "x.c:1:1: error: no" if failed else usual(rung, variant)

    monkeypatch.setattr(maker, "_one", compile)
    found = maker.kernels(["add"], rung_objects.native())["add", "cpu"]
    assert set(found.served.values()) == {"03_im2col_cpu/add/01_vectors"}
    (line,) = [line for line in said if "not compiled" in line]
    assert line.endswith("labs/03_im2col_cpu/add/02_streamed.c: x.c:1:1: error: no")


def test_a_function_that_nothing_defines_is_named(tmp_path):
    source, made_of = tmp_path / "x.c", tmp_path / "x.o"
    source.write_text("int gemm_forward(void); int f(void) {return gemm_forward();}")
    subprocess.run(["cc", "-c", "-o", str(made_of), str(source)], check=True)
    part = Linked(str(made_of), (("f", "add_forward_cpu_f32"),), ())
    with pytest.raises(Refusal, match="a file calls gemm_forward, but no line of lab"):
        joined([part], tmp_path / "y.o", rung_objects._tool, {})


def test_a_path_that_make_cannot_take_is_refused():
    with pytest.raises(Refusal, match=r"of this folder contains a space.*; move it"):
        rung_objects.fit_for_make(Path("/a b"), "this folder", "move it")
