# SPDX-License-Identifier: MIT
"""What a grading compiles, ahead of its use: one thread, in the order of the course."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from grader.course.rungs import COMPILED, Rung, Selection
from grader.engine import known
from grader.toolchain import nvcc
from grader.toolchain.build import compiled
from grader.toolchain.make import sanitizers_missing
from grader.toolchain.nvcc import Compiled
from grader.toolchain.products import SANITIZE, TRACE, Build


class Builds:
    """The builds of a selection's rungs in C. Close it when done."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._builder = ThreadPoolExecutor(1, "build")
        self._release: dict[str, Future[Build]] = {}
        self._others: dict[tuple[str, str], Future[Build]] = {}  # rung and mode
        self._compiler = ThreadPoolExecutor(1, "nvcc")
        self._nvcc: dict[str, Future[Compiled]] = {}
        self._no_sanitizers: Future[str] | None = None
        self.links = known.links(self.alone)  # what rungs use of others

    def ahead(self) -> None:
        """Start compiling: every rung of the tasks, and the chosen ones with sanitizers
        too.
        """
        tasks = [task for task in self._selection.tasks if task.language in COMPILED]
        rungs = [rung for task in tasks for rung in task.rungs]
        for rung in rungs:
            if not rung.needs:
                self._release[rung.id] = self._builder.submit(compiled, rung)
        in_c = any(task.language == "c" for task in tasks)
        self._no_sanitizers = self._builder.submit(sanitizers_missing) if in_c else None
        for rung in rungs:
            if rung.id not in self._selection.rungs:
                continue
            modes = (SANITIZE, TRACE) if rung.file.suffix == ".cu" else (SANITIZE,)
            if rung.file.suffix == ".cu":
                self._nvcc[rung.id] = self._compiler.submit(nvcc.compile, rung)
            if rung.uses or rung.needs:
                continue
            for mode in modes:
                self._others[rung.id, mode] = self._builder.submit(
                    compiled, rung, mode=mode
                )

    def whole(self, rung: Rung) -> Build:
        """The rung's build with all it uses, waiting for it if need be."""
        return self.links.build(rung)

    def alone(self, rung: Rung) -> Build:
        """The same before anything is linked that it uses."""
        ahead = self._release.get(rung.id)
        return ahead.result() if ahead else compiled(rung)

    def sanitized(self, rung: Rung) -> Build | None:
        """The build for the memory check; None where this machine cannot have one."""
        missing = self._no_sanitizers
        if missing.result() if missing else sanitizers_missing():
            return None
        ahead = self._others.get((rung.id, SANITIZE))
        return ahead.result() if ahead else self.links.build(rung, mode=SANITIZE)

    def real(self, rung: Rung) -> Compiled:
        """What NVIDIA's compiler says of a rung in CUDA."""
        ahead = self._nvcc.get(rung.id)
        return ahead.result() if ahead else nvcc.compile(rung)

    def other(self, rung: Rung) -> Callable[[str], Build]:
        """What builds a rung in CUDA in another mode."""

        def build(mode: str) -> Build:
            ahead = self._others.get((rung.id, mode))
            return ahead.result() if ahead else self.links.build(rung, mode=mode)

        return build

    def without_sanitizers(self) -> str:
        """Why memory was not checked; "" if it was, or if nothing is in C."""
        chosen = self._selection.rungs & self._release.keys()
        missing = self._no_sanitizers
        return missing.result() if missing and chosen else ""

    def of_task(self, name: str) -> list[tuple[Rung, Build]]:
        """The chosen rungs of a task, before linking."""
        return [
            (rung, self.alone(rung))
            for task in self._selection.tasks
            for rung in task.rungs
            if task.id == name and rung.id in self._selection.rungs and not rung.needs
        ]

    def close(self) -> None:
        """Forget what is still to be built."""
        self._builder.shutdown(wait=False, cancel_futures=True)
        self._compiler.shutdown(wait=False, cancel_futures=True)
