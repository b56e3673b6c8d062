# SPDX-License-Identifier: MIT
"""The class of a result is that of the rung which decides how its sums are made."""

from __future__ import annotations

from grader import operators
from grader.checks.values.fallback import Classes, Servers
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
