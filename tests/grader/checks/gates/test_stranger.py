# SPDX-License-Identifier: MIT
"""Lab 05's gates of what somebody handed in run only where a sandbox holds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.checks.check_result import CheckResult
from grader.checks.gates import contract
from grader.checks.gates.contract import GATES
from grader.course.tasks import select
from grader.engine.answers import earlier_links
from grader.engine.checking.grade_extension import Packages
from grader.toolchain import sandbox
from grader.toolchain.extension.package import Package
from grader.verdicts import Verdict

NAME = "05_torch_extension/conv2d/stable"


class Asked(contract.Contract):
    """Gates that all pass, without a process."""

    def start(self) -> None: ...

    def steps(self) -> Iterator[str]:
        return iter(())

    def stop(self) -> None: ...

    def results(self, direction: str) -> list[CheckResult]:
        return [CheckResult("vmap", direction, Verdict.PASS)]


@pytest.mark.parametrize(
    ("level", "stranger", "waits"),
    [
        ("bwrap", "1", False),
        ("landlock", "1", True),
        ("none", "1", True),
        ("landlock", "", False),
    ],
)
def test_they_wait_for_a_sandbox_that_holds_them(monkeypatch, level, stranger, waits):
    monkeypatch.setattr(sandbox, "level", lambda: level)
    monkeypatch.setenv(sandbox.STRANGER, stranger)
    monkeypatch.setattr(contract, "Contract", Asked)
    packages = Packages(7, None, lambda *_: None, earlier_links.kernel_links())
    built = Package(folder=Path("no_package"), served={})
    found = packages.gates(select(NAME).tasks[0].rungs[0], built)
    checks = [check for one in found.values() for check in one]
    assert {check.verdict.pending for check in checks} == {waits}
    if waits:
        assert len(checks) == len(GATES)
        assert all("Grade on a machine with bubblewrap" in c.message for c in checks)
