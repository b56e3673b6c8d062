# SPDX-License-Identifier: MIT
"""Compiles the rungs of lab 05's kernels, several at once.

kernels.py finds out step by step which rungs it needs. That takes one rung after the
other. So setup.py first compiles the rungs that will most probably be needed, and says
a line for each of them. What is compiled here is not compiled again there. kernels.py
compiles any other rung that it needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from signatures import DIRECTIONS

from grader.course.candidates import candidates
from grader.course.rungs import Rung
from grader.course.tasks import all_tasks
from grader.course.uses import LOWER
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
    """The first choice for operators' kernels on a device, and for all that these
    rungs use; each rung once.
    """
    tasks = {task.id: task for task in all_tasks()}
    found: dict[str, Rung] = {}
    sets = [device, *([kernels.DIRECT] if device == "cpu" else [])]
    open_ends = [
        rung
        for operator in operators
        for one in sets
        for rung in _first(kernels.candidates_of(operator, one))
    ]
    while open_ends:
        rung = open_ends.pop(0)
        if rung.id in found:
            continue
        found[rung.id] = rung
        for use in rung.uses:
            serving = candidates(rung, use, tasks)
            lower = use.alias == LOWER  # may be asked for both directions
            open_ends += _first(serving) if lower or not serving else [serving[0]]
    return list(found.values())


def _first(rungs: Iterable[Rung]) -> Iterator[Rung]:
    """Of a ladder, the highest first, the rungs that seem to define the directions."""
    wanted = set(DIRECTIONS)
    for rung in rungs:
        text = rung.file.read_text(encoding="utf-8", errors="replace")
        defined = re.findall(rf"\bstatus_t\s+{rung.operator}_(\w+)\(", text)
        if wanted & set(defined):
            yield rung
        wanted -= set(defined)


def _jobs() -> int:
    """How many rungs are compiled at once, each in float and double: MAX_JOBS files, or
    as many as there are cores, and a few more, as ninja does it.
    """
    named = os.environ.get("MAX_JOBS", "")
    files = int(named) if named.isdigit() else os.cpu_count() or 1
    return files // 2 + 1
