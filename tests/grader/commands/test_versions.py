# SPDX-License-Identifier: MIT
"""The stable ABI: lab 05's binary, built with the pinned PyTorch, under another one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from grader.commands import versions
from grader.course.rungs import ROOT
from grader.errors import GraderError
from grader.toolchain.make import build_folder
from tests.labs import extension


def test_one_binary_computes_under_two_versions_of_pytorch(monkeypatch):
    extension.package()
    monkeypatch.delenv("CONVLAB_BUILD")  # an environment of 5 GB is made once
    version = versions.pinned()
    assert not torch.__version__.startswith(version)
    said = versions.under(version, extension.FOLDER)
    assert said.startswith(f"torch {version}")
    assert "conv2d and linear, forward and backward, agree" in said


@pytest.fixture
def pretended(monkeypatch, tmp_path):
    """A built package, and programs that end as the test says."""
    folder = tmp_path / "convlab_ext"
    folder.mkdir()
    for operator in ("conv2d", "linear"):
        (folder / f"_{operator}.abi3.so").touch()

    def ends(**by_word: tuple[int, str]) -> Path:
        def run(command, seconds, more=None):
            for word, (status, said) in by_word.items():
                if any(word in part for part in command):
                    return subprocess.CompletedProcess(command, status, "", said)
            return subprocess.CompletedProcess(command, 0, "fine\n", "")

        monkeypatch.setattr(versions, "_run", run)
        return tmp_path

    return ends


@pytest.mark.parametrize(
    ("version", "ends", "words"),
    [
        pytest.param(
            "9.8",
            {"install": (1, "error: dns error\n  failed to look up")},
            "^torch 9.8 cannot be downloaded: error: dns error failed",
            id="without_a_network",
        ),
        pytest.param(
            "9.9",
            {"under": (1, "Traceback\nAssertionError: conv2d is off by 1e-1\n")},
            "the operators of lab 05 fail with torch 9.9: AssertionError: conv2d",
            id="what_does_not_agree",
        ),
    ],
)
def test_what_fails_is_told_in_one_sentence(pretended, version, ends, words):
    with pytest.raises(GraderError, match=words):
        versions.under(version, pretended(**ends))
    ready = build_folder() / "versions" / f"torch-{version}" / "ready"
    assert ready.exists() == ("install" not in ends)


def test_what_is_not_built_is_told(tmp_path):
    with pytest.raises(GraderError, match=r"conv2d of step .c. is not built in"):
        versions.under("9.9", tmp_path)


def test_the_other_pytorch_is_pinned_with_hashes_and_without_addresses():
    text = versions.PINNED.read_text()
    assert "--hash=sha256:" in text
    assert "://" not in text
    assert "other_torch" in (ROOT / "Makefile").read_text()
