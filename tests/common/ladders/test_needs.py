# SPDX-License-Identifier: MIT
"""What setup.py of lab 05 says where it cannot build: the pair, and what to do.

Programs and packages that do not fit are put in place of the real ones.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from ladders import needs, toolkit

from grader.course.rungs import ROOT
from grader.errors import GraderError
from tests import put

SETUP = ROOT / "labs" / "05_torch_extension" / "setup.py"


@pytest.fixture(autouse=True)
def found_anew(monkeypatch):
    """nvcc is looked for in each test, and found again as before afterwards."""
    for name in ("CUDA", "NVCC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    toolkit.find.cache_clear()
    yield
    toolkit.find.cache_clear()


def installed(
    folder: Path, release: str, *, runtime: str = "lib/libcudart.so.13"
) -> Path:
    """A CUDA of this release, as PyPI's packages lay it out; returns its nvcc."""
    said = f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V'\n"
    program = put(folder / "bin" / "nvcc", said)
    program.chmod(0o755)
    put(folder / "include" / "cuda_runtime.h")
    if runtime:
        put(folder / runtime)
    return program


@pytest.fixture
def usual(tmp_path, monkeypatch):
    """Sets the machine's only nvcc; torch has CUDA 13.2, and there is a GPU."""
    monkeypatch.setattr(torch.version, "cuda", "13.2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(toolkit, "packaged", lambda: iter(()))

    def named(release: str, **more: str) -> Path:
        program = installed(tmp_path / release, release, **more)
        monkeypatch.setenv("NVCC", str(program))
        return program

    return named


@pytest.mark.parametrize(
    ("release", "environment", "words"),
    [
        ("12.4", {}, "nvcc is 12.4 .* CUDA 13.2.* install CUDA 13, or run `make nvcc`"),
        (
            "13.2",
            {"NVCC": "/no/nvcc"},
            "=/no/nvcc is not a program .* 13.2.*`make nvcc`",
        ),
        ("", {}, r"its cuda_runtime.h or libcudart.so is missing"),
        ("13.2", {"CUDA": "yes"}, "CUDA=yes: expected 0, 1 or nothing"),
    ],
    ids=["another_major_version", "no_nvcc", "no_runtime", "another_word"],
)
def test_a_cuda_that_does_not_fit_is_refused(
    usual, monkeypatch, release, environment, words
):
    usual(release or "13.2", **({} if release else {"runtime": ""}))
    for name, value in {"CUDA": "1", **environment}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(GraderError, match=words):
        needs.cuda()


# ---- the compiler and Python's packages ----------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"CXX": "no-such-cc -O1"}, "no 'no-such-cc -O1'. Install one .*CXX"),
        (
            {"setuptools": "65.5.1", "torch": "2.15.0"},
            "65.5.1, but torch 2.15.0 needs 77 or newer: pip install 'setuptools>=77'",
        ),
        ({"setuptools": None}, "setuptools is missing, but torch .* needs 77"),
        ({"ninja": None}, "no ninja.*pip install ninja"),
    ],
    ids=["no_compiler", "an_old_setuptools", "no_setuptools", "no_ninja"],
)
def test_what_is_missing_is_named_and_how_to_get_it(monkeypatch, given, words):
    if "CXX" in given:
        monkeypatch.setenv("CXX", given["CXX"])
    hidden = {name for name, version in given.items() if version is None}
    found = needs.shutil.which
    monkeypatch.setattr(
        needs.shutil, "which", lambda name: None if name in hidden else found(name)
    )
    versions(monkeypatch, **given)
    with pytest.raises(GraderError, match=words):
        needs.verify()


def versions(monkeypatch, **given: str | None) -> None:
    """Packages of these versions; None: not installed."""
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name not in given:
            return real(name)
        if given[name] is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return given[name]

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_ninja_beside_python_is_found_without_an_activated_environment(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    needs.verify()
    assert str(Path(sys.executable).parent) in os.environ["PATH"].split(":")


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("torch", f"run .venv/bin/python {SETUP} build_ext --inplace"),
        ("torch", "--no-build-isolation"),
        ("setuptools", "pip install 'setuptools>=77'"),
    ],
)
def test_setup_py_without_a_package_says_one_sentence(missing, words):
    argv = ["setup.py", "build_ext", "--inplace"]
    hide = f"import sys; sys.modules[{missing!r}] = None; sys.argv = {argv}\n"
    run = f"import runpy; runpy.run_path({str(SETUP)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", hide + run],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"convlab_ext: {sys.executable} has no {missing}")
    assert words in sentence


def test_setup_py_tells_its_version_without_torch_and_without_a_compiler():
    """pip asks for such things first, and shows nothing meanwhile."""
    hide = "import sys; sys.modules['torch'] = None; sys.argv = ['setup.py', "
    run = f"import runpy; runpy.run_path({str(SETUP)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}'--version']\n{run}"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=SETUP.parent,
        env={**os.environ, "CC": "no-such-cc", "CXX": "no-such-cc"},
    )
    assert re.fullmatch(r"\d+\.\d+\n", done.stdout), done.stderr


# ---- CUDA ----------------------------------------------------------------------------


def test_without_a_gpu_cuda_is_built_only_if_it_is_asked_for(usual, monkeypatch):
    usual("13.2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = needs.cuda()
    assert not found.built
    assert "PyTorch finds no GPU here (CUDA=1 builds it" in found.sentence
    monkeypatch.setenv("CUDA", "1")
    assert needs.cuda().built


def test_a_torch_without_cuda_is_named_and_where_to_get_another(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setenv("CUDA", "1")
    words = f"^CUDA=1, but torch {re.escape(torch.__version__)} was .*pip install"
    with pytest.raises(GraderError, match=words):
        needs.cuda()


def test_nvcc_of_another_minor_version_will_do(usual):
    program = usual("13.0")
    found = needs.cuda()
    assert found.built
    assert "nvcc 13.0, torch's CUDA 13.2" in found.sentence
    assert found.include == [str(program.parents[1] / "include")]


def test_the_nvcc_of_pypi_serves_where_the_usual_one_does_not_fit(
    usual, monkeypatch, tmp_path
):
    usual("12.4")
    other = installed(tmp_path / "packaged", "13.2")
    monkeypatch.setattr(toolkit, "packaged", lambda: iter([str(other)]))
    assert needs.cuda().built
    assert toolkit.find() == str(other)
    assert toolkit.toolkit().nvcc == other


def test_the_runtime_is_named_where_it_lies(usual):
    """Behind a link it could not be mounted in a sandbox that has the link already."""
    program = usual("13.2", runtime="real/libcudart.so.13")
    root = program.parents[1]
    (root / "lib64").symlink_to(root / "real")
    assert toolkit.toolkit().runtime == root.resolve() / "real" / "libcudart.so.13"


def test_without_cuda_1_a_reason_is_no_error_and_cuda_0_leaves_it_out(
    usual, monkeypatch, tmp_path
):
    usual("12.4")
    found = needs.cuda()
    assert not found.built
    assert found.sentence.startswith("built without CUDA: nvcc is 12.4 and torch")
    usual("13.2")
    toolkit.find.cache_clear()
    assert needs.cuda().built
    monkeypatch.setenv("CUDA", "0")
    assert not needs.cuda().built


def test_pypi_s_runtime_has_no_libcudart_so_and_is_linked_all_the_same(usual, tmp_path):
    """-lcudart asks for libcudart.so, which only a system's CUDA has."""
    real = next(
        Path(path) / "cu13" / "lib" / "libcudart.so.13"
        for path in __import__("nvidia").__path__
    )
    program = usual("13.2", runtime="")
    library = program.parents[1] / "lib" / "libcudart.so.13"
    library.parent.mkdir()
    library.symlink_to(real)
    link = needs.cuda().link
    assert "-lcudart" not in link
    source, made = tmp_path / "one.c", tmp_path / "one.so"
    source.write_text(
        "int cudaGetLastError(void);\nint f(void) { return cudaGetLastError(); }\n"
    )
    cudart = [word for word in link if "cudart" in word]
    command = ["cc", "-shared", "-fPIC", "-o", made, source, *cudart, "-Wl,-z,defs"]
    subprocess.run(command, check=True)
    listed = subprocess.run(["readelf", "-d", made], capture_output=True, text=True)
    assert "libcudart.so.13" in listed.stdout


def test_no_warning_of_a_cuda_home_without_a_card(tmp_path: Path) -> None:
    """PyTorch would log it when its module is imported."""
    program = "from ladders import needs; needs.cpp_extension()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "CUDA_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
