# SPDX-License-Identifier: MIT
"""The class of a result is that of the rung which decides how its sums are made."""

from __future__ import annotations

import pytest

from grader import operators
from grader.checks.subject import Subject
from grader.checks.values.fallback import Alone, Classes, Servers
from grader.course.rungs import DIRECT, WINOGRAD
from grader.course.tasks import all_tasks
from grader.toolchain.make import build_tools
from tests.proofs.reference import reference_links

EXPECTED = {
    ("tiles", "output"): WINOGRAD,  # by a rung two calls below
    ("tiles_parts", "output"): WINOGRAD,  # dealt out first: no lower rung's class
    ("tiles_parts", "grad_weight"): WINOGRAD,
    ("tiles_strided_h", "output"): DIRECT,  # left to the fallback
}


def test_a_rung_that_makes_another_case_lends_its_class():
    build_tools()
    (task,) = (task for task in all_tasks() if task.id == "03_im2col_cpu/conv2d")
    (parts,) = (rung for rung in task.rungs if rung.id.endswith("_parts"))
    conv2d = operators.get("conv2d")
    cases = {case.name: case for case in conv2d.cases(7)}
    with Servers(reference_links(), conv2d, 7) as servers:
        classes = Classes(servers, {"forward": parts, "backward": parts})
        found = {(case, name): classes(cases[case], name) for case, name in EXPECTED}
    assert found == EXPECTED


def test_few_workers_are_kept_and_the_last_used_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[Subject] = []
    monkeypatch.setattr(Subject, "close", lambda subject: ended.append(subject))
    gelu, alone = operators.get("gelu"), Alone()

    def of(number: int) -> Subject:
        return alone.get((str(number), frozenset(), "forward"), lambda: Subject(gelu))

    first, second = of(0), of(1)
    for number in range(2, Alone.MOST + 1):
        of(number)
        assert of(0) is first
    assert ended == [second] and of(1) is not second
    alone.close()
    assert len(ended) == Alone.MOST + 2
