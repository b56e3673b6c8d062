# SPDX-License-Identifier: MIT
"""Checks a file that makes views (common/tensor_view.h)."""

from __future__ import annotations

from collections.abc import Callable

from grader.checks.check_result import CheckResult, clocked
from grader.checks.views import random_views, view_answers
from grader.course.rungs import Rung
from grader.toolchain.products import Build


def each(
    rung: Rung, built: Build, seed: int, announce: Callable[[str, str], None]
) -> list[CheckResult]:
    """One result for each function that the file defines. `announce` is called with the
    rung's id and the function before it is asked.
    """
    library = built.libraries["f32"]

    def one(function: str) -> CheckResult:
        announce(rung.id, function)
        questions = random_views.questions(function, seed)
        return clocked(lambda: view_answers.check(library, function, questions))

    return [one(function) for function in built.directions]
