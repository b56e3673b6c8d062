# SPDX-License-Identifier: MIT
"""Lists the checks of a rung: one table for each kind, in their order.

The checks of a direction run one after the other. The first one that does not pass
decides the verdict. If a check holds only for some rungs, the condition is beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from grader.course import rungs
from grader.course.rungs import EXTENSION, Rung, Selection
from grader.course.threads import starts_threads, uses_openmp
from grader.toolchain.products import SANITIZE, TEAM, TRACE

NUMBERS, RULES, HALF, MODULE, GRADCHECK = (
    "numbers",
    "rules",
    "half",
    "module",
    "gradcheck",
)
THREADS, SECOND = "threads", "second"
MEMORY, ORDER, RACES, TRAFFIC, GATES = "memory", "order", "races", "traffic", "gates"
CARD = "card"  # CHECK=card: nothing but what a GPU is needed for (checking/on_gpu.py)
PYTHON, C, CUDA = "python", "c", "cuda"  # kinds beside EXTENSION, by language
VIEW = "view"  # a kind in C: functions of tensor_view.h


_STARTER = re.compile(rb"^\s*return STATUS_NOT_IMPLEMENTED;", re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """One check of one direction."""

    name: str
    asks: str = ""  # the check as results name it, where that is another word
    dtypes: tuple[str, ...] = ("f32",)
    build: str = ""  # another build of the rung than release that it runs
    where: str = ""  # of which rungs it is asked, where not of all
    forward: bool = False  # backward's: only where forward is right


_BOTH = ("f32", "f64")
_FORWARD = Question(NUMBERS, "forward", _BOTH)
_GRADIENT = Question(NUMBERS, "gradient", _BOTH)
_AUDIT = Question(RULES, "audit")
_NO_SCRATCH = Question(RULES, "no_memory")
_SECOND = Question(SECOND, dtypes=("f64",), where="backward starts from arguments")
_THREADS = Question(THREADS, where="the file starts threads")
_HALF = Question(HALF, dtypes=("f16",), where="lab.toml names f16")
_MODULE = Question(MODULE, dtypes=("f64",), where="there is an nn.Module of it")
_GRADCHECK = Question(GRADCHECK, dtypes=("f64",), forward=True)
_MEMORY = Question(MEMORY, build=SANITIZE, where="this machine has sanitizers")
_IN_TURNS = Question(RACES, build=TEAM, where="the file uses OpenMP")
_LOOKS = (
    Question(ORDER),
    Question(MEMORY, build=SANITIZE),
    Question(RACES, build=TRACE),
    Question(TRAFFIC, build=TRACE, where="lab.toml limits it"),
)
UNDER_CUSIM = tuple(question.name for question in _LOOKS)
_GATES = Question(GATES, dtypes=_BOTH)
_VIEWS = Question("views", asks="the function's name", dtypes=())

PLAN: dict[str, dict[str, tuple[Question, ...]]] = {
    PYTHON: {
        "forward": (_FORWARD, _AUDIT, _MODULE),
        "backward": (_GRADIENT, _AUDIT, _GRADCHECK, _SECOND),
    },
    C: {
        "forward": (_FORWARD, _NO_SCRATCH, _THREADS, _MEMORY, _IN_TURNS),
        "backward": (
            *(_GRADIENT, _NO_SCRATCH, _THREADS),
            *(_GRADCHECK, _MEMORY, _IN_TURNS),
        ),
    },
    CUDA: {
        "forward": (_FORWARD, _NO_SCRATCH, _HALF, *_LOOKS),
        "backward": (_GRADIENT, _NO_SCRATCH, _HALF, _GRADCHECK, *_LOOKS),
    },
    EXTENSION: {
        "forward": (_FORWARD, _MODULE, _GATES),
        "backward": (_GRADIENT, _AUDIT, _GRADCHECK, _GATES),
    },
    VIEW: {"forward": (_VIEWS,), "backward": ()},
}
# operators of lab 05 that are also a module
WITH_MODULE = ("conv2d", "depthwise_conv2d", "layer_norm", "linear", "lltm")
# what their forward saves for backward, moments and gates, is no argument
FROM_SAVED = ("layer_norm", "lltm")
# where none is known
SECONDS = {PYTHON: 4.0, C: 5.0, CUDA: 15.0, EXTENSION: 40.0, VIEW: 2.0}


def kind(rung: Rung) -> str:
    """Which table a rung has."""
    if rung.step:
        return EXTENSION
    if rung.is_view:
        return VIEW
    return {".py": PYTHON, ".c": C, ".cu": CUDA}[rung.file.suffix]


def questions(rung: Rung, direction: str) -> tuple[Question, ...]:
    """The questions of a direction that hold for this rung."""
    operator = rung.operator
    module = kind(rung) == PYTHON or operator in WITH_MODULE
    if rung.exhibit:
        module = False  # it has none
    asked = {
        HALF: "f16" in rung.dtypes and rung.numerics != rungs.HALF,
        GRADCHECK: rung.numerics != rungs.HALF,
        MODULE: module,
        SECOND: operator not in FROM_SAVED,
        THREADS: kind(rung) == C and starts_threads(rung),
        RACES: kind(rung) != C or uses_openmp(rung),
        TRAFFIC: any(limit.direction == direction for limit in rung.traffic),
    }
    table = PLAN[kind(rung)][direction]
    chosen = tuple(question for question in table if asked.get(question.name, True))
    if rung.numerics != rungs.HALF:
        return chosen
    return tuple(replace(question, dtypes=("f16",)) for question in chosen)


def is_below(rung: Rung, selection: Selection) -> bool:
    """Whether a rung above this one is graded in the same run, and is written: then
    the slow checks of lab 04 leave out what costs most.
    """
    if kind(rung) != CUDA or rung.exhibit:
        return False
    above = (
        other
        for task in selection.tasks
        for other in task.rungs
        if task.id == rung.task and other.id in selection.rungs
        if other.id > rung.id and not other.needs
    )
    return any(not _STARTER.search(other.file.read_bytes()) for other in above)
