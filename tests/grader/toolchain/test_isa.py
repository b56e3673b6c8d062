# SPDX-License-Identifier: MIT
"""ISA=avx2 holds our code and PyTorch to AVX2, under make and in the workers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grader.course.rungs import ROOT
from grader.toolchain import isa

SHOWN = """include common/isa.mk
all:
	@echo '$(MARCH_HERE)'
	@$(PYTHON) -c 'import torch; print(torch.backends.cpu.get_cpu_capability())'
"""


def made(value: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-f", "-", f"ISA={value}", f"PYTHON={sys.executable}"]
    known = {k: v for k, v in os.environ.items() if k not in isa.TOLD}
    return subprocess.run(
        command, input=SHOWN, env=known, cwd=ROOT, capture_output=True, text=True
    )


def test_the_compiler_and_pytorch_are_held_to_avx2() -> None:
    flags, capability = made("avx2").stdout.splitlines()
    assert "-march=x86-64-v3" in flags and capability == "AVX2"


def test_nothing_is_held_unless_it_is_asked_for_by_a_name_that_is_known() -> None:
    assert made("").stdout.startswith("-march=native\n")
    done = made("avx1")
    assert done.returncode and "ISA is 'avx1', expected avx2, or nothing" in done.stderr


def test_workers_are_told_what_make_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in isa.TOLD:
        monkeypatch.delenv(name, raising=False)
    assert isa.environment() == {}
    monkeypatch.setenv("ISA", "avx2")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert isa.environment() == {"ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2"}
    assert isa.name() == "avx2"
