# SPDX-License-Identifier: MIT
"""Lists the operators for people: ``convlab.operators()`` shows the formulas."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from signatures import SIGNATURES

from convlab._operator import python_signature
from grader.course import tasks
from grader.course.rungs import ROOT


@functools.cache
def formula(name: str) -> str:
    """What an operator's first output is, in the words of common/operators.h."""
    header = (ROOT / "common" / "operators.h").read_text()
    block = re.search(rf"/\* ---- {name} -+\n(.*?)\n \*   shapes", header, re.DOTALL)
    lines = re.sub(r"(?m)^ \* *", "", block[1]).splitlines() if block else []
    output = SIGNATURES[name].outputs[0].name
    for i, line in enumerate(lines):
        if re.match(rf"(?:[A-Z_]+ +)?{output}\b.*=", line):
            more = lines[i + 1] if line.endswith((" of", ",")) else ""
            return " ".join(f"{line} {more}".split())
    raise LookupError(f"common/operators.h has no formula for {output!r} of {name}")


class Listing:
    """The ten operators: how to call them, what they compute, which labs have them."""

    def __init__(self) -> None:
        tasks.all_tasks.cache_clear()
        self.rungs: dict[str, list[str]] = {name: [] for name in SIGNATURES}
        for task in [t for t in tasks.all_tasks() if not t.functions]:
            for rung in task.rungs:
                if rung.operator in SIGNATURES:  # not an exhibit's own operator
                    self.rungs[rung.operator].append(rung.id)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rungs)

    def __len__(self) -> int:
        return len(self.rungs)

    def __repr__(self) -> str:
        lines = []
        for name, ids in self.rungs.items():
            lines.append(f"{name}{python_signature(SIGNATURES[name])}")
            lines.append(f"    {formula(name)}")
            lines += [f"    {line}" for line in _by_task(ids)]
        return "\n".join(lines)


def operators() -> Listing:
    """The ten operators as a table, for people."""
    return Listing()


def _by_task(ids: list[str]) -> list[str]:
    """02_naive_c/conv2d: 00_definition, 01_loop_order."""
    found: dict[str, list[str]] = {}
    for one in ids:
        task, _, rung = one.rpartition("/")
        found.setdefault(task, []).append(rung)
    return [f"{task}: {', '.join(rungs)}" for task, rungs in found.items()]
