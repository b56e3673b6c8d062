# SPDX-License-Identifier: MIT
"""Tests of grader/course/offered, and the course that they are about."""

from __future__ import annotations

from pathlib import Path

from grader.course.offered import course_file, narrowed
from grader.course.offered.course_file import Course
from grader.course.tasks import all_tasks

TEXT = """name = "two_labs"
title = "Two labs"
begins = 2026-11-01T09:00:00+01:00
hints = 1
[late]
percent_per_day = 10
days = 3
free_days = 1
[solutions]
after_days = 2
[[part]]
id = "week_1"
title = "One"
due_days = 7
questions = [
  { id="q1", points=5, text="Why?", rubric=["5: it is a sum over all the paths"] },
]
tasks."01_python_function/add" = { points = 10 }
tasks."02_naive_c/gelu" = { points = 20, hours = 1.5 }
[[part]]
id = "week_2"
title = "Two"
deadline = 2026-11-15T23:59:00+01:00
[part.tasks]
"02_naive_c/matmul" = { points = 30, rungs = ["00_definition"] }
"02_naive_c/add" = { points = 35 }
[hidden]
seeds = [730417, 918273]
cases.gelu = [
  # 189 elements: no whole number of vectors
  { name = "hidden_nine", shapes = { input = [3, 7, 9] }, approximate = "tanh" },
]
"""


def read(folder: Path, text: str = TEXT) -> Course:
    """A course from the text of its file."""
    file = folder / "course.toml"
    file.write_text(text, encoding="utf-8")
    return course_file.course(file, narrowed.names(all_tasks()))
