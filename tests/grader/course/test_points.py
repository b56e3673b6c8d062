# SPDX-License-Identifier: MIT
"""The core path is worth 100 points; the READMEs say what each lab is worth."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from signatures import SIGNATURES

from grader.course.rungs import ROOT, Task
from grader.course.tasks import all_tasks
from grader.engine.score import shown_points

LABS = sorted({task.lab for task in all_tasks()})


def tasks_of(lab: str) -> list[Task]:
    return [task for task in all_tasks() if task.lab == lab]


def worth(lab: str, *, core: bool) -> str:
    return shown_points(sum(t.points for t in tasks_of(lab) if t.core is core))


def test_the_core_path_is_worth_100_points() -> None:
    assert sum(task.points for task in all_tasks() if task.core) == 100


@pytest.mark.parametrize("lab", LABS)
def test_the_readme_of_the_repository_says_what_a_lab_is_worth(lab: str) -> None:
    row = re.search(rf"^\| \[`{lab}`\].*$", (ROOT / "README.md").read_text(), re.M)
    assert row
    operators = [task for task in tasks_of(lab) if task.operator in SIGNATURES]
    said = f"{len(operators)} operators, {worth(lab, core=True)} points"
    extra = worth(lab, core=False)
    assert row[0].endswith(
        f"{said} and {extra} extra |" if extra != "0" else f"{said} |"
    )


@pytest.mark.parametrize("lab", LABS)
def test_the_readme_of_a_lab_says_what_each_task_is_worth(lab: str) -> None:
    text = (ROOT / "labs" / lab / "README.md").read_text().split("## Points")[1]
    rows = re.findall(r"^\| `(?:\w+/)?(\w+)` \|(.*)$", text, re.M)
    said = {
        name: (re.findall(r" ([\d.]+) \|", row)[:1], "extra" in row)
        for name, row in rows
    }
    worth = {t.operator: ([shown_points(t.points)], not t.core) for t in tasks_of(lab)}
    assert {name: said.get(name) for name in worth} == worth


def test_the_exhibits_of_a_bug_hunt_share_what_a_course_gives_it() -> None:
    hunt = next(task for task in all_tasks() if task.is_hunt)
    assert [hunt.worth(rung) for rung in hunt.rungs] == [1.0] * len(hunt.rungs)
    doubled = replace(hunt, points=2 * hunt.points)
    assert [doubled.worth(rung) for rung in hunt.rungs] == [2.0] * len(hunt.rungs)
