# SPDX-License-Identifier: MIT
"""A sample of the wrong submissions in tests/mistakes, and what the detector says.

All of them: `python -m tests.mistakes.run`, whose table is docs/results/mistakes.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mistakes.run import FOLDER, Submission, judged, submissions

EVERY = 11  # of those in C, which take a second; those in Python import torch
PYTHON = ("listed/add/py_alpha", "unlisted/conv2d/py_")


def sample() -> list[Submission]:
    """Some of each kind, the same ones in every run."""
    everything = submissions()
    in_c = [s for s in everything if s.file.suffix == ".c"]
    some = [
        next((s for s in everything if s.name.startswith(name)), None)
        for name in PYTHON
    ]
    return in_c[::EVERY] + [s for s in some if s]


@pytest.mark.parametrize("submission", sample(), ids=lambda s: s.name)
def test_a_mistake_gets_its_name_and_nothing_else_one(
    submission: Submission, tools: Path, tmp_path: Path
) -> None:
    found = judged(submission, tmp_path)
    said = f"{found.mistake}: {found.diagnosis}"
    assert submission.outcome(found.mistake) == "right", said


def test_every_submission_is_listed_and_every_entry_has_a_file() -> None:
    files = {
        str(file.relative_to(FOLDER))
        for folder in ("listed", "unlisted")
        for file in (FOLDER / folder).rglob("*.*")
        if file.suffix in (".c", ".py")
    }
    assert files == {s.name for s in submissions()}


def test_there_are_enough_of_both_kinds() -> None:
    kinds = Counter(s.name.split("/")[0] for s in submissions())
    assert kinds["listed"] >= 60
    assert kinds["unlisted"] >= 40
    assert all((s.mistake is None) == s.name.startswith("un") for s in submissions())


def test_outcomes_are_told_apart() -> None:
    listed = Submission("listed/x.c", "conv2d", "forward", "kernel_flipped", ("other",))
    assert listed.outcome("kernel_flipped") == listed.outcome("other") == "right"
    assert listed.outcome("hw_swapped") == "wrong name"
    assert listed.outcome(None) == "no name"
    free = Submission("unlisted/x.c", "conv2d", "forward")
    assert free.outcome(None) == "right"
    assert free.outcome("kernel_flipped") == "accused"
