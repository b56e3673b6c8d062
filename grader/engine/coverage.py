# SPDX-License-Identifier: MIT
"""Shows the course as a matrix: the state of each operator in each lab and direction.

A cell is one direction of one task. It has the verdict of the best file that defines
the direction. If a task has no file, or was not graded, its cell is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from signatures import DIRECTIONS, SIGNATURES

from grader.course.tasks import offered_tasks
from grader.engine.score import TaskResult
from grader.verdicts import Verdict

Cell = tuple[str, str, str]  # operator, lab, direction


@dataclass(frozen=True)
class Matrix:
    """Every cell of the course; None where nothing has been graded."""

    labs: tuple[str, ...]
    cells: dict[Cell, Verdict | None]

    @property
    def operators(self) -> list[str]:
        """Those that any lab has, in the order of operators.h."""
        return list(dict.fromkeys(operator for operator, _, _ in self.cells))

    @property
    def right(self) -> int:
        """How many cells have passed."""
        return sum(found is Verdict.PASS for found in self.cells.values())

    def of(self, operator: str, lab: str) -> list[Verdict | None]:
        """Forward and backward of one task."""
        return [self.cells.get((operator, lab, d)) for d in DIRECTIONS]

    def entry(self) -> dict[str, dict[str, dict[str, str]]]:
        """For results.json: operator -> lab -> direction -> verdict, of cells that have
        one.
        """
        made: dict[str, dict[str, dict[str, str]]] = {}
        for (operator, lab, direction), found in self.cells.items():
            of_lab = made.setdefault(operator, {}).setdefault(lab, {})
            if found is not None:
                of_lab[direction] = str(found)
        return made


def matrix(results: Iterable[TaskResult]) -> Matrix:
    """All operators in all labs, as these results have them."""
    by_id = {result.task.id: result for result in results}
    offered = {task.id for task in offered_tasks()}
    labs = tuple(sorted({name.split("/")[0] for name in offered}))
    cells: dict[Cell, Verdict | None] = {}
    for operator in SIGNATURES:
        for lab in labs:
            if f"{lab}/{operator}" not in offered | by_id.keys():
                continue
            result = by_id.get(f"{lab}/{operator}")
            for direction in DIRECTIONS:
                found = result.best(direction) if result else None
                cells[operator, lab, direction] = found
    return Matrix(labs, cells)
