# SPDX-License-Identifier: MIT
"""`make build` compiles everything that is selected and shows the first errors."""

from __future__ import annotations

from grader.course import rungs, tasks
from grader.engine.answers import earlier_links
from grader.options import LAB, Arguments, T
from grader.report import terminal
from grader.toolchain.extension import package
from grader.toolchain.make import build_tools

OPTIONS = (T, LAB)


def run(arguments: Arguments) -> int:
    """Compile; 1 if some rung failed to build."""
    build_tools()
    failed = 0
    selection = tasks.select(arguments[T], arguments[LAB])
    for task in selection.tasks:
        for rung in task.rungs:
            if rung.id not in selection.rungs or task.language not in rungs.COMPILED:
                continue
            built = earlier_links.build(rung)
            failed += bool(built.error)
            if built.error or built.blocked:
                reason = built.error or built.blocked
                terminal.say(f"{built.location or rung.shown}: {reason}")
    ladders = [task for task in selection.tasks if not task.is_hunt]
    operators = [t.operator for t in ladders if t.language == rungs.EXTENSION]
    if operators:
        for sentence in package.in_place(operators, earlier_links.kernel_links()):
            terminal.say(sentence)
            failed += sentence.startswith("not built")
    terminal.say(
        f"{failed} of the selected rungs failed to build" if failed else "built"
    )
    return 1 if failed else 0
