# SPDX-License-Identifier: MIT
"""How long a compiler may take, and whose word its last words are."""

from __future__ import annotations

import os
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.checks.not_run import build_failed
from grader.course.rungs import ROOT, Rung
from grader.engine.answers.earlier_links import build
from grader.toolchain import make, nvcc
from grader.toolchain.products import Build
from grader.verdicts import Verdict
from tests import put

REFERENCE = (ROOT / "labs/02_naive_c/gelu/00_definition.c").read_text()


@pytest.fixture
def build_text(tools: Path) -> Iterator[Callable[[str], Build]]:
    """The Build of a rung with this text."""
    folder = ROOT / "build" / f"limits-{os.getpid()}"

    def built(text: str) -> Build:
        return build(Rung("02_naive_c/gelu", put(folder / "00_mine.c", text)))

    yield built
    shutil.rmtree(folder)


def test_a_compiler_that_the_clock_ends_says_nothing_of_the_file(
    build_text, monkeypatch
):
    monkeypatch.setattr(make, "DEADLINE", 0.001)
    found = build_text(REFERENCE)
    assert found.late and "run the command again" in found.error
    assert {check.verdict for check in build_failed(found)} == {Verdict.TIMEOUT}


def test_a_compiler_that_needs_too_much_of_a_core_is_ended(build_text, monkeypatch):
    monkeypatch.setattr(make, "CORE_SECONDS", 1)
    steps = "".join(f"#define X{i + 1} X{i} X{i} X{i} X{i}\n" for i in range(8))
    steps = f"#define X0 if (*a++ > 1) *a *= 3;\n{steps}"
    slow = "void f(float *a);\nvoid f(float *a) { X8 }\n"
    found = build_text(steps + slow + REFERENCE)
    assert "used 1 s of processor time" in found.error and not found.late


@pytest.mark.parametrize("head", ["", "#if __INCLUDE_LEVEL__ < 180\n"])
def test_a_file_that_includes_itself_twice_fills_no_disk(build_text, head):
    again = '#include "00_mine.c"\n' * 2
    found = build_text(f"{head}{again}{head and '#endif'}\n{REFERENCE}")
    assert "too large and was stopped: does the file include itself" in found.error
    assert {check.verdict for check in build_failed(found)} == {Verdict.BUILD}
    made = [file for file in make.build_folder().rglob("00_mine.*") if file.is_file()]
    assert max(file.stat().st_size for file in made) < 4 << 20


def test_a_file_that_includes_itself_gets_its_own_sentence(build_text):
    found = build_text(f'#include "00_mine.c"\n{REFERENCE}')
    assert "does the file include itself?" in found.error
    assert found.location and found.location.endswith("00_mine.c:1")


def test_a_file_in_cuda_that_includes_itself_twice_fills_no_disk(tmp_path):
    again = '#include "00_mine.cu"\n' * 2
    text = f"#if __INCLUDE_LEVEL__ < 180\n{again}#endif\nextern int x;\n"
    file = put(tmp_path / "00_mine.cu", text)
    stem = tmp_path / "made" / "mine"
    order = ["-f", "common/cusim/cusim.mk", f"SOURCE={file}", f"STEM={stem}"]
    done = make.run_make([*order, f"{stem}.ii"], sees=file, own=stem.parent)
    assert "too large and was stopped" in done.stdout
    assert not {".i", ".ii"} & {made.suffix for made in stem.parent.iterdir()}


def test_what_a_compiler_says_without_end_takes_no_memory():
    tracemalloc.start()
    done = make.run_compiler(["yes", "warning: x"], sees=ROOT / "README.md")
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
    assert done.returncode and "wrote a file that is too large" in done.stdout


def test_the_last_words_of_a_compiler_count_after_many_others():
    words = "yes | head -c 400000; echo CPU time limit exceeded; exit 1"
    done = make.run_compiler(["sh", "-c", words])
    assert "s of processor time and was stopped" in done.stdout


def test_a_file_that_speaks_of_a_full_disk_does_not_end_the_grading(build_text):
    found = build_text(f"#error No space left on device\n{REFERENCE}")
    assert "No space left on device" in found.error


def test_what_the_clock_ended_is_not_kept_as_nvcc_s_word(tmp_path, monkeypatch):
    late = subprocess.CompletedProcess([], make.LATE, "error: too late")
    monkeypatch.setattr(nvcc, "find", lambda: "/bin/true")
    monkeypatch.setattr(make, "run_compiler", lambda *_, **__: late)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path))
    file = ROOT / "labs/04_cuda_kernels/add/00_strided.cu"
    found = nvcc.compile(Rung("04_cuda_kernels/add", file))
    assert found.verdict is Verdict.TIMEOUT and "too late" in found.message
    assert not list(tmp_path.rglob("*.json"))
