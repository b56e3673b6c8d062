# SPDX-License-Identifier: MIT
"""Gets the times of a grading, from the ledger or when nothing else runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from signatures import DIRECTIONS

from grader.engine.answers import keys, records
from grader.engine.answers.ledger import SPEED, Ledger
from grader.engine.checking.rung_checker import Checker
from grader.engine.graph import Graph
from grader.engine.race import Race
from grader.engine.score import TaskResult
from grader.verdicts import Verdict


class Times:
    """Of one grading."""

    def __init__(
        self,
        race: Race,
        checker: Checker,
        graph: Graph,
        ledger: Ledger | None,
        *,
        fresh: bool,
        ready: Callable[[], None],
    ) -> None:
        """`fresh`: what the ledger knows is measured again; `ready` is called before
        anything is measured.
        """
        self.race, self.checker, self.graph = race, checker, graph
        self.ledger, self.fresh, self.ready = ledger, fresh, ready

    def of(self, result: TaskResult, seed: int) -> TaskResult:
        """A task's result with the times of its fastest right files."""
        key = self._key(result)
        ledger = self.ledger if key else None
        kept = None
        if ledger and not self.fresh:
            kept = ledger.answer(SPEED, result.task.id, key)
        if ledger and kept:
            ledger.renew(kept)
            record = kept.record
            rungs = tuple(records.with_times(found, record) for found in result.rungs)
            return replace(result, rungs=rungs)
        if self.race.will_time(result.task):
            self.ready()
        rungs = tuple(self.race.task(result.task, list(result.rungs)))
        timed = replace(result, rungs=rungs)
        if ledger and any(rung.speeds for rung in rungs):
            records.keep_speeds(ledger, key, result, timed, seed=seed)
        return timed

    def _key(self, result: TaskResult) -> str:
        """What the times depend on: the machine, what is timed, and all right files."""
        if not (self.ledger and result.task.speed):
            return ""
        right = [
            (r.rung.id, self.graph.nodes[r.rung.id].key, d)
            for r in result.rungs
            for d in DIRECTIONS
            if r.verdict(d) is Verdict.PASS
        ]
        return keys.digest(keys.machine(), right, repr(result.task.speed))
