# SPDX-License-Identifier: MIT
"""How the exhibits of a bug hunt are named, opened and described."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.exhibits import CASE
from grader.course.rungs import ROOT, Rung, Task
from grader.course.tasks import all_tasks
from grader.handout import leaks
from grader.solution_marks import REGION, starter

HUNTS = [task for task in all_tasks() if task.is_hunt]
EXHIBITS = [rung for task in HUNTS for rung in task.rungs]
KEYS = ("does", "seen", "passes", "run")
SHORT = 8  # characters without blanks; a brace alone tells nothing
MOST_CHANGED = 12  # lines of a repair: one bug, not a file written anew

every_exhibit = pytest.mark.parametrize("rung", EXHIBITS, ids=lambda rung: rung.id)


def _files(rung: Rung) -> list[Path]:
    """Its sources: one, or two in lab 05."""
    return [rung.file, *(file for file in rung.also if file.suffix == ".py")]


@every_exhibit
def test_an_exhibit_opens_with_what_it_does_where_it_was_seen_and_what_it_passes(
    rung: Rung,
) -> None:
    text = rung.file.read_text()
    python = rung.file.suffix == ".py"
    opening = r"(?:# SPDX[^\n]*\n)?\"\"\"" if python else r"(?:// SPDX[^\n]*\n)?/\* "
    mark, indent = ("", "  ") if python else (r" \*", "   ")
    head = rf"{opening}{rung.file.stem.replace('_', ' ')}\n{mark}\n"
    for word in KEYS[:-1]:
        head += (
            rf"{mark}{indent}{word:<7}  \S[^\n]*\n(?:{mark}{indent} {{9}}\S[^\n]*\n)*"
        )
    number = rung.file.name[:2]
    head += rf"{mark}{indent}run      make grade T={rung.task}/{number}\n"
    assert re.match(head, text), head


@every_exhibit
def test_marks_come_in_pairs_and_none_is_left_in_what_is_handed_out(rung: Rung) -> None:
    for file in _files(rung):
        text = file.read_text()
        marks = re.findall(r"(?m)^ *(?://|#) (BEGIN|END) SOLUTION$", text)
        assert marks == ["BEGIN", "END"] * len(REGION.findall(text)), file.name
        assert not re.search("SOLUTION|STARTER", starter(text)), file.name


@pytest.mark.parametrize("task", HUNTS, ids=lambda task: task.id)
def test_exhibits_are_numbered_from_00_without_a_gap(task: Task) -> None:
    numbers = [rung.file.name[:2] for rung in task.rungs]
    assert numbers == [f"{number:02}" for number in range(len(numbers))]


@every_exhibit
def test_the_repair_is_small_and_so_is_what_stands_in_its_place(rung: Rung) -> None:
    found = [one for file in _files(rung) for one in REGION.findall(file.read_text())]
    assert 0 < sum(len(repair.splitlines()) for repair, _ in found) <= MOST_CHANGED
    assert 0 < sum(len(wrong.splitlines()) for _, wrong in found) <= MOST_CHANGED


def _repair_in_hints(rung: Rung) -> list[str]:
    """Lines of the repair, however short, in what a student reads about the exhibit."""
    repairs = [
        (file, bare)
        for file in _files(rung)
        for repair, _ in REGION.findall(file.read_text())
        for bare in map(leaks.bare, repair.splitlines())
        if len(bare) >= SHORT
    ]
    page = (ROOT / "docs/guides/bug_museum.md").read_text()
    words = [
        *rung.hints,
        *rung.exhibit.story,
        starter(rung.case_file.read_text()),
        page,
    ]
    said = re.sub(r"\s+", "", "\n".join(words))
    return [f"{file.name}: {bare}" for file, bare in repairs if bare in said]


@every_exhibit
def test_nothing_that_is_said_of_an_exhibit_holds_a_line_of_its_repair(
    rung: Rung,
) -> None:
    assert _repair_in_hints(rung) == []


def test_a_repair_that_a_hint_tells_is_found() -> None:
    rung = next(rung for rung in EXHIBITS if rung.id.endswith("01_scaled_rows"))
    with_hint = replace(rung, hints=("Write g = g * weight there.",))
    assert _repair_in_hints(with_hint) == ["01_scaled_rows.py: g=g*weight"]


@every_exhibit
def test_both_cases_of_an_exhibit_are_toml_and_differ(rung: Rung) -> None:
    text = rung.case_file.read_text()
    assert tomllib.loads(text) != tomllib.loads(starter(text))
    assert f"{rung.exhibit.elements} numbers" in text, "its head tells the limit"


@every_exhibit
def test_an_exhibit_has_three_hints_and_what_it_passes(rung: Rung) -> None:
    assert len([hint for hint in rung.hints if hint.strip()]) == 3
    assert len(rung.exhibit.passes) >= 2
    assert rung.exhibit.verdict


REFERENCE = re.compile(r"(?i:issues?|pull requests?) \d+( and \d+)*|\(\d+\)")


def _sizes(text: str) -> list[str]:
    """The numbers in a text that are neither an issue, a year nor part of a name."""
    return re.findall(r"(?<!\w)\d+", REFERENCE.sub("", text))


@every_exhibit
def test_neither_the_head_nor_the_museum_names_the_sizes_that_expose_it(
    rung: Rung,
) -> None:
    """The student finds them. `seen` has numbers of issues and years."""
    head = rung.file.read_text()
    for word, after in (("does", "seen"), ("passes", "run")):
        told = re.search(rf"  {word:<9}(.*?)\n\W*{after}  ", head, re.S)
        assert told and _sizes(told[1]) == [], f"{word}: {told}"
    for sentence in rung.exhibit.story:
        assert _sizes(sentence) == [], sentence


def test_a_size_in_a_story_is_found_and_an_issue_is_none() -> None:
    told = (
        "PyTorch's issue 54036, pull requests 3 and 4 (2026) had stride 1, no conv2d."
    )
    assert _sizes(told) == ["1"]


def test_every_case_belongs_to_an_exhibit() -> None:
    case_files = {rung.case_file for rung in EXHIBITS}
    folders = {rung.file.parent for rung in EXHIBITS}
    assert {file for d in folders for file in d.glob(f"*{CASE}")} == case_files


@every_exhibit
def test_no_hint_spells_out_the_case(rung: Rung) -> None:
    """One setting may be told; two of them are the case."""
    (solution, _), *_ = REGION.findall(rung.case_file.read_text())
    settings = [line.strip() for line in solution.splitlines() if " = " in line]
    assert settings
    for hint in rung.hints:
        assert sum(f"{one}," in f"{hint.rstrip('.')}," for one in settings) < 2, hint
