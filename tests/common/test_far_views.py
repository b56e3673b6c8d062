# SPDX-License-Identifier: MIT
"""Views beyond 2^31 elements: every rung of lab 04 takes them, an `int` does not.

No case of the grader can have them, for the memory it would take. far_views.py only
reserves address space. Every third rung is tried; with WHOLE=1 every one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course.rungs import ROOT, Rung
from grader.course.tasks import all_tasks
from grader.toolchain import products
from grader.toolchain.linking import OWN_FILES
from grader.toolchain.make import build_folder
from tests import some
from tests.common.far_views import CASES
from tests.proofs.reference import reference_links

LAB = "04_cuda_kernels"
RUNGS = {
    rung.id: rung
    for task in all_tasks()
    if task.lab == LAB and not task.is_hunt
    for rung in task.rungs
    if rung.needs != "gpu"
}
NAIVE = ROOT / "labs" / LAB / "matmul" / "00_naive.cu"
PLANTED = {  # an offset in 32 bits, signed and not
    "int": "left.data[(int)(m * left.row_stride + k * left.column_stride)]",
    "unsigned": "left.data[(unsigned)(m * left.row_stride + k * left.column_stride)]",
}


@pytest.fixture(autouse=True)
def float_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the compiling: the other dtype has the same offsets."""
    monkeypatch.setattr(products, "DTYPES", ("f32",))


@pytest.fixture
def copy(tools: Path) -> Iterator[Path]:
    """Where a changed rung may lie: in the repository, outside of the labs."""
    folder = ROOT / "build" / f"far-{build_folder().parent.name}" / "matmul"
    folder.mkdir(parents=True)
    file = folder / "00_planted.cu"
    yield file
    file.unlink()
    folder.rmdir()
    folder.parent.rmdir()


def tried(rung: Rung) -> subprocess.CompletedProcess[str]:
    """far_views.py on a rung."""
    built = reference_links().build(rung, walk=OWN_FILES)
    assert built.libraries, built.error or built.forbidden or built.blocked
    command = [sys.executable, "-m", "tests.common.far_views"]
    command += [str(built.libraries["f32"]), rung.task.split("/")[1]]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("name", some(RUNGS, every=3))
@pytest.mark.usefixtures("tools")
def test_a_rung_takes_views_beyond_2_to_the_31_elements(name: str) -> None:
    done = tried(RUNGS[name])
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("kind", PLANTED)
def test_an_offset_in_32_bits_is_seen(copy: Path, kind: str) -> None:
    text = NAIVE.read_text()
    right = "*matrix_at(&left, m, k)"
    assert right in text
    copy.write_text(text.replace(right, PLANTED[kind]))
    done = tried(Rung(f"{LAB}/matmul", copy))
    assert done.returncode != 0, done.stdout


def test_every_operator_of_the_lab_has_a_case() -> None:
    ladders = [t for t in all_tasks() if t.lab == LAB and not t.is_hunt]
    operators = {task.operator for task in ladders}
    assert operators == set(CASES)
