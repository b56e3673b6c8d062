# SPDX-License-Identifier: MIT
"""Compiles the rungs of lab 05's kernels, several at once.

kernels.py finds out step by step which rungs it needs. That takes one rung after the
other. So setup.py first compiles all rungs that may be needed, and says a line for each
of them. What is compiled here is not compiled again there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from grader.course.candidates import candidates
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.toolchain.build import compiled
from grader.toolchain.extension import kernels


def compile(
    operators: Sequence[str], devices: Sequence[str], say: Callable[[str], None]
) -> None:
    """Compile the rungs of operators for devices; `say` is told each that is compiled.

    A rung that does not compile is no error here: kernels.py takes another one, or says
    the reason. Does nothing if the objects of the kernels are there already.
    """
    if os.environ.get(kernels.MADE):
        return
    wanted = [
        (rung, mode)
        for device in devices
        for mode in [kernels.DEVICES[device]]
        for rung in rungs_of(operators, device)
    ]
    with ThreadPoolExecutor(_jobs()) as pool:
        started = {pool.submit(compiled, r, mode=mode): r for r, mode in wanted}
        for number, done in enumerate(as_completed(started), 1):
            built = done.result()
            word = "not compiled" if built.error or built.blocked else "compiled"
            say(f"[{number}/{len(wanted)}] {word} {started[done].shown}")


def rungs_of(operators: Sequence[str], device: str) -> list[Rung]:
    """The rungs that operators' kernels on a device may consist of, each once."""
    tasks = {task.id: task for task in all_tasks()}
    found: dict[str, Rung] = {}
    sets = [device, *([kernels.DIRECT] if device == "cpu" else [])]
    open_ends = [
        rung
        for operator in operators
        for one in sets
        for rung in kernels.candidates_of(operator, one)
    ]
    while open_ends:
        rung = open_ends.pop(0)
        if rung.id in found:
            continue
        found[rung.id] = rung
        for use in rung.uses:
            open_ends += candidates(rung, use, tasks)
    return list(found.values())


def _jobs() -> int:
    """How many rungs are compiled at once, each in float and double: MAX_JOBS files, or
    as many as there are cores, and a few more, as ninja does it.
    """
    named = os.environ.get("MAX_JOBS", "")
    files = int(named) if named.isdigit() else os.cpu_count() or 1
    return files // 2 + 1
