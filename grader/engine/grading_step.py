# SPDX-License-Identifier: MIT
"""Defines what a grading reports about its progress, while it is still running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imports the tasks
    from grader.engine.score import TaskResult


@dataclass(frozen=True)
class GradingStep:
    """A step that begins, or a task whose checks have ended."""

    rung: str
    check: str
    done: int
    total: int
    ended: TaskResult | None = None  # without times: those are taken last
