# SPDX-License-Identifier: MIT
"""What is linked with what, as the results of earlier runs know it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.course.rungs import Rung
from grader.engine import results
from grader.engine.answers import ledger
from grader.toolchain.build import compiled
from grader.toolchain.extension import kernels
from grader.toolchain.linking import Earlier, Links
from grader.toolchain.products import Build


def earlier() -> Earlier:
    """What results.json, or else the ledger, says now of rungs whose contents are the
    same.
    """
    known: dict[tuple[str, str], dict[str, Any] | None] = {
        (rung["id"], rung["sha256"]): rung
        for task in (results.read() or {"tasks": []})["tasks"]
        for rung in task["rungs"]
    }

    def verdict(rung: Rung, direction: str) -> str | None:
        key = rung.id, rung.sha256
        if key not in known:
            known[key] = ledger.last_said(results.folder(), *key)
        found = known[key]
        return None if found is None else results.verdict_of(found, direction)

    return verdict


def links(compile: Callable[[Rung], Build] = compiled) -> Links:
    """What chooses which rung serves another one."""
    return Links(compile, earlier())


def kernel_links() -> Links:
    """What chooses lab 05's kernels where no grading runs."""
    return kernels.links(links())


def build(rung: Rung, *, mode: str = "release") -> Build:
    """Build a rung for every dtype, with what it uses of others."""
    if not rung.uses:
        return compiled(rung, mode=mode)
    return links().build(rung, mode=mode)
