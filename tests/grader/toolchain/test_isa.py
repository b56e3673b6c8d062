# SPDX-License-Identifier: MIT
"""ISA= holds our code and PyTorch to a level, under make and in the workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.bench import request
from grader.checks.speed import baseline
from grader.course.rungs import ROOT
from grader.engine.answers import keys
from grader.toolchain import isa

SHOWN = """include common/isa.mk
all:
	@echo '$(MARCH_HERE)'
	@env
torch: all
	@ONEDNN_VERBOSE=1 $(PYTHON) -c 'import torch; \\
	print(torch.backends.cpu.get_cpu_capability()); \\
	torch.nn.functional.conv2d(torch.ones(2, 8, 9, 9), torch.ones(8, 8, 3, 3))'
"""
OLD, NEW = "fma avx2 bmi2", "fma avx2 bmi2 avx512f avx512bw avx512cd avx512dq avx512vl"


def made(
    value: str, *words: str, target: str = "all"
) -> subprocess.CompletedProcess[str]:
    command = ["make", "-f", "-", f"ISA={value}", f"PYTHON={sys.executable}", *words]
    environment = {k: v for k, v in os.environ.items() if k not in isa.TOLD}
    environment.pop("CONVLAB_BUILD", None)
    return subprocess.run(
        [*command, target],
        input=SHOWN,
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the place of /proc/cpuinfo, of Intel's processor with AVX2."""
    file = tmp_path / "cpuinfo"
    file.write_text(f"vendor_id : GenuineIntel\nflags : fpu {OLD}\n")
    monkeypatch.setattr(isa, "CPUINFO", file)
    for name in isa.TOLD:
        monkeypatch.delenv(name, raising=False)
    return file


def test_the_compiler_and_pytorch_are_held_to_avx2() -> None:
    said = made("avx2", target="torch").stdout.splitlines()
    assert said[0] == "-march=x86-64-v3 -mtune=native"
    assert "AVX2" in said  # what PyTorch's own kernels use
    assert "onednn_verbose,v1,info,cpu,isa:Intel AVX2" in said
    done = [line.split(",")[6] for line in said if ",exec,cpu,convolution," in line]
    assert done and all("avx2" in kernel for kernel in done)


@pytest.mark.parametrize(
    ("value", "level", "onednn"),
    [("avx2", "v3", "AVX2"), ("avx512", "v4", "AVX512_CORE")],
)
def test_a_level_has_flags_variables_and_a_build_folder_of_its_own(
    value: str, level: str, onednn: str, processor: Path
) -> None:
    processor.write_text(f"flags : {NEW}\n")
    said = made(value, f"CPUINFO={processor}").stdout.splitlines()
    assert said[0] == f"-march=x86-64-{level} -mtune=native"
    assert {
        f"ISA={value}",
        f"ATEN_CPU_CAPABILITY={value}",
        f"ONEDNN_MAX_CPU_ISA={onednn}",
        f"MKL_ENABLE_INSTRUCTIONS={value.upper()}",
        f"CONVLAB_BUILD={ROOT}/build/{value}",
    } <= set(said)


def test_nothing_is_held_unless_it_is_asked_for() -> None:
    said = made("").stdout.splitlines()
    assert said[0] == "-march=native"
    assert not any(line.startswith(isa.TOLD[1:]) for line in said)
    assert not any(line.startswith("CONVLAB_BUILD=") for line in said)


@pytest.mark.parametrize("value", ["avx1", "avx2 avx512"])
def test_an_unknown_level_is_refused(value: str) -> None:
    done = made(value)
    assert done.returncode
    assert f"ISA is '{value}', expected avx2 or avx512, or nothing" in done.stderr


@pytest.mark.parametrize(
    ("value", "flags", "lacks"),
    [
        ("avx512", NEW.removesuffix(" avx512vl"), "avx512vl"),
        ("avx512", OLD, "avx512f avx512bw avx512cd avx512dq avx512vl"),
        ("avx2", "fma bmi2", "avx2"),
    ],
)
def test_a_level_that_the_processor_lacks_is_refused(
    value: str, flags: str, lacks: str, processor: Path
) -> None:
    processor.write_text(f"model name : old\nflags : {flags}\n")
    done = made(value, f"CPUINFO={processor}")
    assert done.returncode and "-march" not in done.stdout
    (sentence,) = done.stderr.splitlines()
    assert f"ISA is '{value}'" in sentence and f"it lacks {lacks}; leave" in sentence


def test_workers_are_told_what_make_has_set(
    processor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isa.environment() == {} and isa.suffix() == ""
    monkeypatch.setenv("ISA", "avx512")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx512")
    assert isa.environment() == {"ISA": "avx512", "ATEN_CPU_CAPABILITY": "avx512"}
    assert isa.name() == "avx512" and isa.suffix() == "_avx512"


def test_an_answer_for_one_level_is_none_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = set()
    for value in ("", "avx2", "avx512"):
        monkeypatch.setenv("ISA", value)
        keys.of_machine.cache_clear()
        found.add(keys.of_machine())
    keys.of_machine.cache_clear()
    assert len(found) == 3


# ---- what is told of it --------------------------------------------------------------


@pytest.fixture
def held(processor: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ISA=avx2 as make sets it."""
    monkeypatch.setenv("ISA", "avx2")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    monkeypatch.setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2")
    return processor


def test_what_could_not_be_held_is_named(
    held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isa.not_held("AVX2") == []
    assert isa.not_held("AVX512") == [isa.OWN_KERNELS]
    held.write_text(f"vendor_id : AuthenticAMD\nflags : {OLD}\n")
    assert isa.not_held("AVX2") == ["MKL"]
    for name in ("ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS"):
        monkeypatch.delenv(name)
    assert isa.not_held("AVX2") == ["oneDNN", "MKL"]
    monkeypatch.delenv("ISA")
    assert isa.not_held("AVX512") == []


def test_rows_and_tables_say_what_is_not_held_and_what_is_pending(
    held: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "AVX2")
    assert {baseline.held(name) for name in ("MKL", "oneDNN", "native")} == {""}
    assert request.isa_words() == " ISA=avx512: pending, this processor lacks it."
    held.write_text(f"vendor_id : AuthenticAMD\nflags : {NEW}\n")
    words = " (not held to avx2)"
    assert {baseline.held(name) for name in ("MKL", "Slow2d", "composed, MKL")} == {
        words
    }
    assert baseline.held("oneDNN") == ""
    assert request.isa_words() == " MKL may use wider vectors than ISA=avx2."
