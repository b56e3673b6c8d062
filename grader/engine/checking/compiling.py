# SPDX-License-Identifier: MIT
"""Compiles each build of a rung once per grading.

If several processes need the same build, products.py lets the first one make it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from grader.course.rungs import Rung
from grader.engine.answers import earlier_links
from grader.toolchain import cusim, nvcc
from grader.toolchain.build import compiled
from grader.toolchain.linking import Judge, Links
from grader.toolchain.make import sanitizers_missing
from grader.toolchain.nvcc import Compiled
from grader.toolchain.products import SANITIZE, TEAM, Build


class Builds:
    """The builds of one process."""

    def __init__(self, judge: Judge | None = None) -> None:
        self.release: dict[str, Build] = {}  # rung -> what has been compiled of it
        self.links = Links(
            self.alone, earlier_links.earlier(), judge
        )  # what each rung uses
        self._no_sanitizers: str | None = None

    def ahead(self, rungs: Iterable[Rung], slots: int) -> ThreadPoolExecutor:
        """Compile these in threads; shut the pool down to end it. What all of lab 04
        needs comes first: it takes both cores, and later everybody would wait for it.
        """
        pool = ThreadPoolExecutor(slots, "build")
        waiting = list(rungs)
        if any(rung.file.suffix == ".cu" for rung in waiting):
            pool.submit(cusim.build_tools)
        for rung in waiting:
            pool.submit(self.alone, rung)
        return pool

    def alone(self, rung: Rung) -> Build:
        """A rung before anything is linked that it uses."""
        if rung.id not in self.release:
            self.release[rung.id] = compiled(rung)
        return self.release[rung.id]

    def whole(self, rung: Rung) -> Build:
        """The rung's build with all it uses."""
        return self.links.build(rung)

    def sanitized(self, rung: Rung) -> Build | None:
        """The build for the memory check; None where this machine cannot have one."""
        return (
            None if self.without_sanitizers() else self.links.build(rung, mode=SANITIZE)
        )

    def in_turns(self, rung: Rung) -> Build:
        """The build for the check of a team's races."""
        return self.links.build(rung, mode=TEAM)

    def without_sanitizers(self) -> str:
        """Why memory cannot be checked; "" if it can."""
        if self._no_sanitizers is None:
            self._no_sanitizers = sanitizers_missing()
        return self._no_sanitizers

    def other(self, rung: Rung) -> Callable[..., Build]:
        """What builds a rung in CUDA in another mode."""
        return partial(self.links.build, rung)

    def real(self, rung: Rung) -> Compiled:
        """What NVIDIA's compiler says of a rung in CUDA."""
        return nvcc.compile(rung)
