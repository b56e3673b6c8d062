# SPDX-License-Identifier: MIT
"""`make profile T=` shows where the time of a file in C goes, and what limits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from grader import operators, working
from grader.bench.profile import counts, findings, object_code
from grader.bench.profile.findings import Profile
from grader.checks.speed import baseline, machine, speed
from grader.checks.subject import Subject
from grader.commands.debug import Situation, save_memory, with_cases
from grader.course.rungs import Rung, Task
from grader.course.tasks import select
from grader.engine import results
from grader.engine.answers import earlier_links
from grader.errors import GraderError
from grader.operators import Case, Operator
from grader.operators.cost import cost
from grader.options import Arguments, T
from grader.report import terminal
from grader.runner.supervisor import cores
from grader.runner.supervisor.session import tools
from grader.toolchain.linking import WITH_GIVEN
from grader.toolchain.make import build_folder, build_tools
from grader.toolchain.products import Build

FOR_AVX2 = "-march=x86-64-v3"  # what valgrind can run
DTYPE, SEED = "f32", 0

OPTIONS = (T,)


def run(arguments: Arguments) -> int:
    """Each direction that the file defines. Raises GraderError for another language."""
    rung = with_cases(arguments[T], "make profile T=03_im2col_cpu/matmul/02")
    task = next(t for t in select(rung.id).tasks if t.id == rung.task)
    if rung.exhibit:
        raise GraderError(
            f"{rung.id} is a bug-hunt file, which is not timed: make grade "
            f"T={rung.id} checks the repair and the case"
        )
    if rung.file.suffix != ".c":
        raise GraderError(
            f"{rung.shown}: make profile works only for C. For a kernel, make bench "
            "counts sectors and bank conflicts. For Python, use cProfile"
        )
    with results.lock():
        build_tools()
        built = _built(rung)
        torch.set_num_threads(1)
        cores.pin()
        with machine.Peaks() as peaks:
            found = [
                _profile(task, rung, direction, built, peaks)
                for direction in built.directions
            ]
    for profile in found:
        for sentence in findings.sentences(profile):
            terminal.say(sentence)
        for line in _lines(rung, profile):
            terminal.say(line)
        terminal.say("")
    return 0


def _built(rung: Rung) -> Build:
    built = earlier_links.links().build(rung, walk=WITH_GIVEN)
    if not built.libraries:
        where = built.location or rung.shown
        raise GraderError(
            f"{where}: {built.error or built.forbidden or built.blocked}; "
            "make profile needs a file that compiles"
        )
    return built


def _profile(
    task: Task, rung: Rung, direction: str, built: Build, peaks: machine.Peaks
) -> Profile:
    operator = operators.get(task.operator)
    assert task.speed
    case = operator.speed_cases()[task.speed.bands[direction].case]
    library = built.libraries[DTYPE]
    subject = Subject(operator, libraries={DTYPE: (library, library)})
    try:
        with working.on(f"time {direction}"):
            seconds = speed.screen(subject, case, direction, SEED)
    finally:
        subject.close()
    if seconds == float("inf"):
        raise GraderError(
            f"{rung.id}: {direction} did not return; make grade T={rung.id} shows why"
        )
    data = baseline.Data(operator, case, 1, SEED)
    inputs, _ = data.of_call(0)
    need = cost(operator, case, inputs, data.outputs, direction=direction)
    profile = Profile(direction, case.name, seconds, need, peaks)
    loops = object_code.loops(library, rung.file)
    if not counts.available():
        terminal.complain("valgrind is not installed, so no loop is shown: "
                          "make system-packages installs it")  # fmt: skip
        return profile
    counted, other = _counted(rung, operator, case, direction)
    hot, share = findings.hottest(counted, other)
    lines = {i.at: i.line for loop in other for i in loop.body}
    same = findings.same_loop(hot, loops) if hot else None
    by_line = findings.by_line(counted, lines)
    return replace(profile, hottest=same, share=share, lines=by_line)


def _counted(
    rung: Rung, operator: Operator, case: Case, direction: str
) -> tuple[Counter[int], list[object_code.Loop]]:
    """How often each instruction runs in a build for AVX2, and that build's loops."""
    built = _built(replace(rung, flags=(*rung.flags, FOR_AVX2)))
    library = built.libraries[DTYPE]
    inputs = operator.inputs(case, torch.float32, SEED)
    outputs = operator.outputs(inputs, case)
    grads = operator.grad_outputs(case, outputs, torch.float32, SEED)
    folder = build_folder() / "profile" / rung.id
    results.make_folder(folder)
    now = Situation(rung, operator, case, DTYPE, inputs, outputs, grads, folder)
    memory = save_memory(now, library, (direction,))
    words = [tools() / "worker", "--replay", library, library, *memory]
    found = counts.counted([str(word) for word in words], library, folder)
    return found, object_code.loops(library, rung.file)


def _lines(rung: Rung, profile: Profile) -> Iterator[str]:
    """The lines of source that execute most instructions."""
    text = Path(rung.file).read_text(encoding="utf-8", errors="replace").splitlines()
    for number, share in profile.lines:
        if 0 < number <= len(text):
            yield f"  {100 * share:3.0f} %  {number:4}  {text[number - 1].strip()}"
