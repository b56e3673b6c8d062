# SPDX-License-Identifier: MIT
"""compile_commands.json: clang, which is what clangd is made of, reads every file."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

from grader.commands.editor import entries
from grader.course.rungs import ROOT
from grader.course.tasks import all_tasks
from tests import some

FOUND = entries(all_tasks())
NAMES = {entry["file"]: entry for entry in FOUND}
LAB_05 = [e for e in FOUND if "/csrc/" in e["file"]]
READ = [*some([e for e in FOUND if e not in LAB_05], every=6), *some(LAB_05, every=9)]

pytestmark = pytest.mark.skipif(
    not shutil.which("clang"), reason="clang is not installed (make system-packages)"
)


def read(entry: dict[str, Any], source: str | None = None) -> str:
    """What clang says of a file as the entry has it read."""
    words = [w for w in entry["arguments"] if w != "-c"]
    if source is not None:
        kind = [] if "-x" in words else ["-x", "c"]
        words[-1:] = [*kind, "-"]
    done = subprocess.run(
        [*words, "-fsyntax-only"],
        cwd=ROOT,
        input=source,
        capture_output=True,
        text=True,
    )
    return done.stderr


@pytest.mark.parametrize("entry", READ, ids=lambda entry: entry["file"])
def test_clang_reads_a_file_without_an_error(entry: dict[str, Any]) -> None:
    assert "error:" not in (said := read(entry)), said


def test_a_mistake_in_a_kernel_is_seen() -> None:
    name = "labs/04_cuda_kernels/gelu/00_grid_stride.cu"
    text = (ROOT / name).read_text()
    assert "error:" not in read(NAMES[name], text)
    assert "threadIdy" in read(NAMES[name], text.replace("threadIdx", "threadIdy", 1))


def test_every_rung_in_c_or_cuda_has_an_entry() -> None:
    wanted = {
        rung.shown
        for task in all_tasks()
        for rung in task.rungs
        if rung.file.suffix in (".c", ".cu") and not rung.needs
    }
    assert wanted <= set(NAMES) and LAB_05
    assert all((ROOT / name).exists() for name in NAMES)
