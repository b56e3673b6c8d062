# SPDX-License-Identifier: MIT
"""A sample of the wrong submissions (submissions.py), and what the detector says.

All of them: `python -m tests.grader.diagnosis.submissions`, whose table is
docs/results/mistakes.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from grader.verdicts import Verdict
from tests import some
from tests.grader.diagnosis.submissions import (
    RIGHT,
    Submission,
    checked,
    judged,
    main,
    right_ones,
    submissions,
)

EVERY = 11  # of those in C, which take a second; those in Python import torch
PYTHON = ("listed/add/py_alpha", "unlisted/conv2d/py_")
# listed, and without a name so far (docs/results/mistakes.md)
NAMELESS = ("listed/conv2d/scratch_not_zeroed.c", "listed/matmul/rows_packed.c")


def sample() -> list[Submission]:
    """Some of each kind, the same ones in every run."""
    everything = submissions()
    in_c = [s for s in everything if s.suffix == ".c"]
    python = [next(s for s in everything if s.name.startswith(name)) for name in PYTHON]
    return some(in_c, every=EVERY) + python


@pytest.mark.parametrize("submission", sample(), ids=lambda s: s.name)
def test_a_mistake_gets_its_name_and_nothing_else_one(
    submission: Submission, tools: Path, tmp_path: Path
) -> None:
    found = judged(submission, tmp_path)
    said = f"{found.mistake}: {found.diagnosis}"
    expected = "no name" if submission.name in NAMELESS else "right"
    assert submission.outcome(found.mistake) == expected, said


@pytest.mark.parametrize("submission", right_ones(), ids=lambda s: s.name)
def test_without_its_edits_it_is_right(
    submission: Submission, tools: Path, tmp_path: Path
) -> None:
    """So each of the others is wrong by its edits alone."""
    for found in checked(submission, tmp_path, "forward", "backward"):
        assert found.verdict is Verdict.PASS, found.message
        assert not found.mistake


def test_every_part_is_used_and_every_edit_changes_something() -> None:
    everything = submissions()
    used = {f"{s.operator}/{part}{s.suffix}" for s in everything for part in s.parts}
    assert used == {str(f.relative_to(RIGHT)) for f in RIGHT.rglob("*.*")}
    assert all(old != new for s in everything for old, new in s.edits)
    assert len({s.text() for s in everything}) == len(everything)


def test_an_edit_without_its_place_is_refused() -> None:
    lost = Submission("listed/add/x.py", "forward", "", ("expand",), (("gone", ""),))
    with pytest.raises(ValueError, match=r"listed/add/x\.py: 0 places for 'gone'"):
        lost.text()


def test_a_name_that_no_submission_has_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "nosuchthing"])
    assert "no submission's name begins with 'nosuchthing'" in capsys.readouterr().err


def test_there_are_enough_of_both_kinds() -> None:
    kinds = Counter(s.name.split("/")[0] for s in submissions())
    assert kinds["listed"] >= 60
    assert kinds["unlisted"] >= 40
    assert all((s.mistake is None) == s.name.startswith("un") for s in submissions())


def test_outcomes_are_told_apart() -> None:
    listed = Submission(
        "listed/conv2d/x.c", "forward", "", (), (), "kernel_flipped", ("other",)
    )
    assert listed.outcome("kernel_flipped") == listed.outcome("other") == "right"
    assert listed.outcome("hw_swapped") == "wrong name"
    assert listed.outcome(None) == "no name"
    free = Submission("unlisted/conv2d/x.c", "forward", "", (), ())
    assert free.outcome(None) == "right"
    assert free.outcome("kernel_flipped") == "accused"
