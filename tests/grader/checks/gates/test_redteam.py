# SPDX-License-Identifier: MIT
"""Packages of lab 05 that cheat or break the gates; none of them may earn a point."""

from __future__ import annotations

from grader.engine.answers import as_json
from grader.report.exports import hosts
from grader.report.exports.sheet import sheet
from grader.verdicts import Verdict
from tests.grader.engine import results
from tests.proofs.packages import PACKAGES, SHORT, asked


def test_no_package_judges_itself(tmp_path):
    """Each gate with numbers sees that they have not come from the kernel."""
    for check in asked(PACKAGES / "judges_itself.py", tmp_path):
        shown = not check.self_reported
        assert shown == (check.name not in ("errors", "opcheck"))
        assert check.verdict is (Verdict.FORBIDDEN if shown else Verdict.PASS)
        assert not shown or "convlab's kernels did not compute them" in check.message


def test_what_a_process_says_while_it_dies_is_told_to_no_student(tmp_path):
    """Where the course hides anything: the words are those of a hidden case."""
    check, *_ = asked(PACKAGES / "dies_loading.py", tmp_path, SHORT)
    assert check.verdict is Verdict.CRASH and "shapes 3, 7, 9" in check.message
    rung = results.rung("05_torch_extension/add", 0)
    result = results.check("vmap", "forward", "CRASH", message=check.message)
    rung["checks"] = [result]
    task = results.task("05_torch_extension/add", [rung])
    whole = as_json.results(results.whole([task]))
    for hides in (False, True):
        shown = hosts.gradescope(sheet(whole, hides=hides))
        assert "CRASH" in shown and ("3, 7, 9" in shown) is not hides
