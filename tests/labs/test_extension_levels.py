# SPDX-License-Identifier: MIT
"""The kernels of a wheel on processors with AVX-512, with AVX2, and with neither.

qemu-x86_64 is the processor that this machine is not. A small program calls the
kernels, because PyTorch takes most of a minute to load there.
"""

from __future__ import annotations

import array
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from ladders import rung_objects

from grader.course.rungs import ROOT
from grader.toolchain import isa
from tests import PROGRAMS
from tests.labs.extension import LAB

DRIVER = PROGRAMS / "levels" / "driver.cpp"
QEMU = "qemu-x86_64"
HASWELL, NEHALEM = ([QEMU, "-cpu", name] for name in ("Haswell-noTSX", "Nehalem"))
NARROW = {"ATEN_CPU_CAPABILITY": "avx2"}

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86-64"),
    pytest.mark.skipif(not shutil.which(QEMU), reason=f"needs {QEMU}"),
]


def driver(folder: Path, variants: list[rung_objects.Variant]) -> Path:
    """The program, linked with kernels of these variants."""
    maker = rung_objects.Maker(ROOT, LAB, folder, lambda _: None)
    found = maker.kernels(["matmul", "gelu"], variants)
    objects = [str(file) for one in found.values() for file in one.files]
    program = folder / "driver"
    words = ["c++", "-std=c++17", "-O1", "-Wall", "-fopenmp", "-o", str(program)]
    include = [f"-I{LAB / 'csrc'}", f"-I{ROOT / 'common'}"]
    subprocess.run([*words, *include, str(DRIVER), *objects], check=True, timeout=120)
    return program


@pytest.fixture(scope="module")
def of_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return driver(tmp_path_factory.mktemp("wheel"), rung_objects.of_a_wheel())


def ran(program: Path, under: Sequence[str] = (), **more: str) -> tuple[str, bytes]:
    """What it says, and the results."""
    file = program.with_suffix(".out")
    file.unlink(missing_ok=True)
    done = subprocess.run(
        [*under, str(program), str(file)],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), file.read_bytes() if file.exists() else b""


def test_a_processor_with_avx2_alone_gets_the_kernels_for_it(of_wheel: Path):
    said, results = ran(of_wheel, HASWELL)
    assert said == "level 3, kernels 3"
    assert (said, results) == ran(of_wheel, **NARROW)


def test_the_results_are_those_of_make_build_at_this_level(
    of_wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Bit for bit: make build ISA=avx2."""
    monkeypatch.setenv("ISA", "avx2")
    said, results = ran(driver(tmp_path, rung_objects.native()))
    assert said.endswith("kernels 1")
    assert results == ran(of_wheel, HASWELL)[1]


def test_the_results_of_both_levels_agree(of_wheel: Path):
    said, wide = ran(of_wheel)
    here = 3 if isa.held() == "avx2" or "avx512" in isa.lacking() else 4
    assert said == f"level {here}, kernels {here}"
    pairs = zip(array.array("f", wide), array.array("f", ran(of_wheel, **NARROW)[1]))
    assert max(abs(a - b) / (1 + abs(a)) for a, b in pairs) < 1e-5


def test_an_older_processor_gets_no_kernel_and_a_sentence(
    of_wheel: Path, tmp_path: Path
):
    """Python says so before it loads PyTorch."""
    assert ran(of_wheel, NEHALEM) == ("level 0, kernels 0", b"")
    package = tmp_path / "convlab_ext"
    shutil.copytree(LAB / "convlab_ext", package, ignore=shutil.ignore_patterns("*.so"))
    library = package / "_cpu_level.so"
    words = [
        "cc",
        "-shared",
        "-fPIC",
        str(LAB / "csrc" / "level.c"),
        "-o",
        str(library),
    ]
    subprocess.run(words, check=True, timeout=60)
    done = subprocess.run(
        [*NEHALEM, sys.executable, "-c", "import convlab_ext"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert re.search(r"ImportError: .* need a processor with x86-64-v3", done.stderr)
    assert "torch" not in done.stderr
