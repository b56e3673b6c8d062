# SPDX-License-Identifier: MIT
"""Chooses which rungs are linked with which, by the results of earlier runs."""

from __future__ import annotations

import functools

from grader.course.rungs import Rung
from grader.engine import results
from grader.engine.answers import records
from grader.engine.score import RungResult
from grader.toolchain.build import compiled
from grader.toolchain.extension import kernels
from grader.toolchain.linking import Earlier, Links
from grader.toolchain.products import Build


def earlier() -> Earlier:
    """What the ledger, or else results.json, says now of rungs whose contents are the
    same.
    """
    answers: dict[tuple[str, str], RungResult | None] = {}

    @functools.cache
    def written() -> dict[tuple[str, str], RungResult]:
        found = results.read()
        rungs = [rung for task in found.tasks for rung in task.rungs] if found else []
        return {(one.rung.id, one.rung.sha256): one for one in rungs}

    def verdict(rung: Rung, direction: str) -> str | None:
        key = rung.id, rung.sha256
        if key not in answers:
            said = records.last_said(results.folder(), rung)
            answers[key] = said or written().get(key)
        found = answers[key]
        if found is None:
            return None
        word = found.verdict(direction)
        return "pending" if word and word.pending else str(word or "")

    return verdict


def links() -> Links:
    """What chooses which rung serves another one."""
    return Links(earlier=earlier())


def kernel_links() -> Links:
    """What chooses lab 05's kernels where no grading runs."""
    return kernels.links(links())


def build(rung: Rung, *, mode: str = "release", walk: str = "") -> Build:
    """Build a rung for every dtype, with what it uses of others: Links.build."""
    if not rung.uses:
        return compiled(rung, mode=mode)
    return links().build(rung, mode=mode, walk=walk)
