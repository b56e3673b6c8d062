# SPDX-License-Identifier: MIT
"""`make step STEPS=pybind` builds the first steps of lab 05 where Python imports them.

It calls setup.py with the Python that has PyTorch, in its folder, for the operators
that have such a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.course import rungs, tasks
from grader.engine.answers import earlier_links
from grader.errors import GraderError
from grader.options import Arguments, Option, T, several
from grader.report import terminal
from grader.toolchain.extension import kernels, package
from grader.toolchain.make import build_tools

FIRST_STEPS = ("pybind", "aten")
STEPS = Option("STEPS", "pybind,aten", several)
OPTIONS = (T, STEPS)


def run(arguments: Arguments) -> int:
    """Build; 1 if an operator failed."""
    steps = arguments[STEPS] or FIRST_STEPS
    for step in steps:
        if step not in FIRST_STEPS:
            raise GraderError(
                f"STEPS={step}: expected some of {','.join(FIRST_STEPS)}; the last "
                "step, stable, is what make build LAB=05 builds"
            )
    names = _operators(arguments[T], steps)
    build_tools()
    terminal.say(f"building {', '.join(steps)} of {', '.join(names)}")
    why = package.earlier_steps(names, earlier_links.kernel_links(), steps)
    terminal.say(why or f"built: {_how(steps, names[0])}")
    return int(bool(why))


def _operators(wanted: str, steps: Sequence[str]) -> list[str]:
    """Those that were chosen and have one of the steps."""
    chosen = tasks.select(wanted, None if wanted else "05").tasks
    names = [task.operator for task in chosen if task.language == rungs.EXTENSION]
    sources = kernels.LAB / "csrc"
    there = [
        n for n in names if any((sources / s / f"{n}.cpp").exists() for s in steps)
    ]
    if not there:
        have = sorted({f.stem for s in steps for f in (sources / s).glob("*.cpp")})
        raise GraderError(
            f"nothing to build: in lab 05 only {', '.join(have)} have the step "
            f"{' or '.join(steps)}; choose one with T=05_torch_extension/{have[0]}"
        )
    return there


def _how(steps: Sequence[str], name: str) -> str:
    """What to type next."""
    step = next(s for s in steps if (kernels.LAB / "csrc" / s / f"{name}.cpp").exists())
    lab = f"cd {kernels.LAB.relative_to(rungs.ROOT)}"
    python = f"../../.venv/bin/python -c 'from convlab_ext import {step}; "
    called = f'pybind.ahead("{name}").forward' if step == "pybind" else "aten"
    return f"try {lab} && {python}print({called})'"
