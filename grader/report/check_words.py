# SPDX-License-Identifier: MIT
"""Writes out what a result is about: the check, or the file that it lacks."""

from __future__ import annotations

from grader.checks.check_names import CHECKS
from grader.checks.check_result import IN_FULL, CheckResult
from grader.course.exhibits import CASE_CHECK
from grader.engine.score import RungResult
from grader.toolchain.extension import kernels

DIRECTION = ("forward", "gradient")  # checks that are named by their direction


def check_words(check: CheckResult) -> str:
    """forward in float32; memory accesses, backward in float32"""
    parts = [CHECKS[check.name]] if check.name in CHECKS else []
    if not parts and check.name not in DIRECTION:
        parts = [check.name.replace("_", " ")]  # of another grader's results
    if check.direction and check.direction != CASE_CHECK:
        parts.append(check.direction)
    in_type = f" in {IN_FULL.get(check.dtype, check.dtype)}" if check.dtype else ""
    return ", ".join(parts) + in_type


def replaced_by(result: RungResult, alias: str) -> str:
    """The file behind one alias of a result: lab.toml names a task or a rung."""
    rung = result.rung
    targets = {name: u.target for u in rung.uses for name in (u.alias, *u.symbols)}
    if rung.in_package:
        targets[alias] = kernels.target_of(rung.operator, "cpu")
    target = targets.get(alias, "")
    if target.count("/") == 2:
        return f"your labs/{target} or a lower file"
    return f"a file in labs/{target}" if target else "your own file"
