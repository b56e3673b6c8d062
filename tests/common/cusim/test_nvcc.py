# SPDX-License-Identifier: MIT
"""Asserts in kernels, and calls of host functions, which only nvcc knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cusim import nvcc
from cusim.build import build
from cusim.run import run

from tests import PROGRAMS, ROOT

HERE = PROGRAMS / "cusim"
BUG = HERE / "bugs/35_host_function_in_kernel.cu"
SAID = (
    'a.cu(14): error: calling a __host__ function("cube(float)") from a __global__ '
    'function("apply") is not allowed\n\n'
    'a.cu(14): error: identifier "cube" is undefined in device code\n'
)


@pytest.mark.parametrize("mode", ["run", "check", "trace"])
def test_an_assert_that_fails_in_a_kernel_is_named_with_its_line(mode):
    built = build(HERE / "asserts.cu", mode=mode)
    assert built.ok, built.messages
    ran = run(built.path)
    (found,) = [f for f in ran.report.findings if f.kind == "assert"]
    lines = (HERE / "asserts.cu").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "HERE" in line)
    assert (found.level, found.lines) == ("error", (number,))
    assert found.sentence.startswith("'x[threadIdx.x] > 0' does not hold in ")
    assert "positive" in found.sentence
    assert found.places[0].thread == (2, 0, 0)
    assert "the host goes on" in ran.output


def test_a_call_of_a_host_function_is_read_from_what_nvcc_says():
    (found,) = nvcc.read(SAID)
    assert (found.kind, found.lines) == ("host_function", (14,))
    assert found.sentence == (
        "'cube' is a function of the host, but 'apply' calls it on the device; put "
        "__device__ before it"
    )


def check(file: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """python -m cusim check of a file."""
    command = [sys.executable, "-m", "cusim", "check", str(file)]
    environment = {"PYTHONPATH": str(ROOT / "common/python"), **environment}
    environment = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300
    )


@pytest.mark.skipif(not nvcc.find(), reason="there is no nvcc")
def test_check_names_a_host_function_where_there_is_nvcc():
    done = check(BUG, NVCC=nvcc.find())
    assert done.returncode == 1
    assert "error: host_function: 'cube' is a function of the host" in done.stderr
    assert f"{BUG.name}:14" in done.stderr


def test_check_says_that_nobody_looked_where_there_is_none():
    done = check(BUG, NVCC="none")
    assert done.returncode == 0
    assert nvcc.NOT_LOOKED in done.stderr
