# SPDX-License-Identifier: MIT
"""A repository with one ladder, for tests that build rungs of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.course import rungs
from grader.course.rungs import ROOT, Rung
from grader.engine.answers.earlier_links import build
from grader.toolchain.products import Build

LADDER = "02_naive_c/gelu"


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A repository with common/ and one ladder, which the grader takes for its own."""
    (tmp_path / "labs" / LADDER).mkdir(parents=True)
    (tmp_path / "build").mkdir()
    shutil.copytree(ROOT / "common", tmp_path / "common")
    monkeypatch.setattr(rungs, "ROOT", tmp_path)
    monkeypatch.setenv("CONVLAB_BUILD", str(tmp_path / "build"))
    return tmp_path


@pytest.fixture
def build_text(root):
    """The Build of a rung with this text."""

    def built(
        text: str, *, flags: tuple[str, ...] = (), mode: str = "release"
    ) -> Build:
        file = root / "labs" / LADDER / "00_mine.c"
        file.write_text(text)
        return build(Rung(LADDER, file, flags), mode=mode)

    return built
