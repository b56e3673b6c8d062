# SPDX-License-Identifier: MIT
"""The wrong submissions are as many as their page says, differ, fit and compile."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter

import pytest

from tests import ROOT, some
from tests.house.student_mistakes import FOLDER, student_mistakes

MISTAKES = student_mistakes()
IN_C = [mistake for mistake in MISTAKES if mistake.path.suffix == ".c"]


def file_of(rung: str) -> str:
    """The name of the file that holds the mistakes of a rung."""
    _, lab, operator, _ = rung.split("/")
    return "lab_01" if lab.startswith("01") else operator


def test_every_edit_fits_its_rung_and_no_two_submissions_are_the_same():
    texts = {mistake.text(): mistake.id for mistake in MISTAKES}
    assert len(texts) == len(MISTAKES) == 200
    assert len({mistake.id for mistake in MISTAKES}) == 200
    assert not [m.id for m in MISTAKES if m.text() == m.path.read_text()]


def test_fields_hold_what_the_page_says():
    assert {m.kind for m in MISTAKES} == {"listed", "unusual"}
    assert {m.direction for m in MISTAKES} == {"forward", "backward", "both"}
    assert not [m.id for m in MISTAKES if not re.fullmatch(r"\w.+\.", m.what)]


def test_the_page_counts_the_entries_of_every_file():
    row = re.compile(r"\| `(\w+)\.toml` \| (\d+) \| (\d+) \|")
    said = row.findall((FOLDER / "README.md").read_text())
    found = Counter((file_of(m.rung), m.kind) for m in MISTAKES)
    assert sorted(file.stem for file in FOLDER.glob("*.toml")) == sorted(
        name for name, _, _ in said
    )
    for name, listed, unusual in said:
        assert found[name, "listed"] == int(listed), name
        assert found[name, "unusual"] == int(unusual), name
    assert sum(m.kind == "listed" for m in MISTAKES) == 120


def test_every_submission_was_graded_and_nearly_all_are_caught():
    said = json.loads((FOLDER / "results.json").read_text())
    assert list(said) == [m.id for m in MISTAKES]
    let_pass = [name for name, checks in said.items() if not checks]
    assert let_pass == [  # docs/results/mistakes.md says why
        "py_add_gradient_not_summed",
        "py_matmul_saved_on_ctx",
    ]


def test_a_submission_in_python_is_python():
    for mistake in MISTAKES:
        if mistake.path.suffix == ".py":
            compile(mistake.text(), mistake.id, "exec")


@pytest.mark.parametrize("mistake", some(IN_C, every=30), ids=lambda m: m.id)
def test_a_submission_in_c_compiles(mistake):
    gcc = shutil.which("gcc")
    assert gcc, "gcc is missing"
    beside = [f"-I{folder}" for folder in (ROOT / "common", mistake.path.parent)]
    flags = ["-std=c11", "-fopenmp", "-DREAL_F64", *beside]
    done = subprocess.run(
        [gcc, *flags, "-fsyntax-only", "-x", "c", "-"],
        input=mistake.text(),
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
