# SPDX-License-Identifier: MIT
"""Packages of lab 05 that cheat or break the gates; none of them may earn a point."""

from __future__ import annotations

import shutil

import pytest

from grader import operators
from grader.checks.check_result import CheckResult
from grader.checks.gates.contract import GATES, Contract
from grader.engine.answers import as_json
from grader.report.exports import hosts
from grader.report.exports.sheet import sheet
from grader.verdicts import Verdict
from tests import PROGRAMS, output_of
from tests.grader.engine import results

PACKAGES = PROGRAMS / "redteam" / "package"
SEED = 7
QUICK = [gate.name for gate in GATES if gate.name not in ("compile", "onnx")]


@pytest.fixture
def gates(tmp_path):
    def asked(
        program: str, operator: str, *names: str
    ) -> dict[tuple[str, str], CheckResult]:
        package = tmp_path / "package" / "convlab_ext"
        package.mkdir(parents=True)
        shutil.copyfile(PACKAGES / f"{program}.py", package / "__init__.py")
        if (library := PACKAGES / f"{program}.c").exists():
            made = package / f"{program}.so"
            output_of(
                ["cc", "-shared", "-fPIC", str(library), "-o", str(made)], seconds=60
            )
        where = tmp_path / "tools"
        quick = [gate for gate in GATES if gate.name in names]
        contract = Contract(
            operators.get(operator), package.parent, where, SEED, gates=quick
        )
        contract.start()
        try:
            found = [*contract.results("backward"), *contract.results("forward")]
        finally:
            contract.stop()
        return {(c.direction, c.name): c for c in found}

    return asked


def test_no_package_judges_itself(gates):
    """Each gate with numbers sees that they have not come from the kernel."""
    found = gates("judges_itself", "add", *QUICK)
    for check in found.values():
        shown = not check.self_reported
        assert shown == (check.name not in ("errors", "opcheck"))
        assert check.verdict is (Verdict.FORBIDDEN if shown else Verdict.PASS)
        assert not shown or "have not come from convlab's kernels" in check.message


def test_what_a_process_says_while_it_dies_is_told_to_no_student(gates):
    """Where the course hides anything: the words are those of a hidden case."""
    check = gates("dies_loading", "add", "vmap")["forward", "vmap"]
    assert check.verdict is Verdict.CRASH and "shapes 3, 7, 9" in check.message
    rung = results.rung("05_torch_extension/add", 0)
    told = results.check("vmap", "forward", "CRASH", message=check.message)
    rung["checks"] = [told]
    task = results.task("05_torch_extension/add", [rung])
    whole = as_json.results(results.whole([task]))
    for hides in (False, True):
        shown = hosts.gradescope(sheet(whole, hides=hides))
        assert "CRASH" in shown and ("3, 7, 9" in shown) is not hides
