# SPDX-License-Identifier: MIT
"""Loads a rung or a task of labs 01 to 04 as a differentiable function:
``convlab.load``.

    conv = convlab.load("02_naive_c/conv2d")
    conv.conv2d(x, w, b, stride=2).sum().backward()

A task stands for the highest file that defines each direction. A rung stands for
itself. If it lacks a direction, the nearest lower file with this direction computes it.
A lower file also computes the cases that the rung leaves. Load again after an edit: the
file is compiled anew, and an earlier loaded function stays as it is. The code runs
inside this process. If it would get CRASH in `make grade`, it ends the notebook's
kernel here.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from signatures import DIRECTIONS, SIGNATURES
from signatures.of_exhibits import ALL

from convlab._load_error import LoadError
from convlab._native import build_rung, device, function_in
from convlab._operator import Code, COperator, python_signature
from convlab._tensor_view import load_views
from grader.course import tasks
from grader.course.rungs import Rung, Task
from grader.errors import GraderError

_numbers = itertools.count()


class Loaded:
    """An operator of the labs: call it, or its function by name.

    `files` says which file serves which direction. Of lab 01 the module class is there
    as well: ``convlab.load("01_python_function/conv2d").Conv2d(3, 8, 5)``.
    """

    def __init__(
        self, id: str, name: str, function: Callable[..., Any], files: Mapping[str, str]
    ) -> None:
        self.id = id
        self.name = name
        self.files = dict(files)
        self._function = function
        self.__signature__ = python_signature(ALL[name])
        setattr(self, name, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The operator's results."""
        return self._function(*arguments, **named)

    def __repr__(self) -> str:
        lines = [f"{self.id}: {self.name}{self.__signature__}"]
        for direction in DIRECTIONS:
            file = self.files.get(direction, "no file defines it")
            lines.append(f"  {direction:<8}  {file}")
        return "\n".join(lines)


def load(path: str | Path) -> Any:
    """A task or rung by id, path or the beginning of one, as a differentiable function
    (Loaded), or the views that it makes (Views).

    Raises LoadError if there is none of that name, or if it cannot be built.
    """
    task, rung = _find(str(path))
    if task.functions:
        return load_views(task, rung)
    if task.language == "python":
        return _load_python(task, rung)
    if task.language == "extension" and task.is_hunt:
        raise LoadError(f"only make grade can build a bug-hunt file of lab 05: {path}")
    if task.language == "extension":
        raise LoadError(
            f"{task.id} is in the package convlab_ext: run make build LAB=05, then "
            f"import convlab_ext and call convlab_ext.{task.operator}"
        )
    return _load_compiled(task, rung)


def _find(wanted: str) -> tuple[Task, Rung | None]:
    """The task that is named, and the rung if it is one."""
    tasks.all_tasks.cache_clear()  # files come and go while a notebook is open
    try:
        chosen = tasks.select(wanted)
    except GraderError as error:
        raise LoadError(str(error)) from None
    if len(chosen.tasks) > 1:
        some = ", ".join(task.id for task in chosen.tasks[:4])
        raise LoadError(f"{wanted!r} names several tasks: {some} ...; choose one")
    (task,) = chosen.tasks
    rungs = [rung for rung in task.rungs if rung.id in chosen.rungs]
    if not rungs:
        raise LoadError(f"{task.id} has no file yet")
    if task.is_hunt:
        if len(rungs) > 1:
            some = ", ".join(rung.id for rung in rungs)
            raise LoadError(
                f"{wanted!r} names several bug-hunt files: {some}; choose one"
            )
        return task, rungs[0]
    if len(rungs) == len(task.rungs) and tasks.select(task.id).rungs == chosen.rungs:
        whole = not re.search(r"/\d\d[^/]*$", wanted)
        return task, None if whole else rungs[0]
    if len(rungs) > 1:
        some = ", ".join(rung.id for rung in rungs)
        raise LoadError(f"{wanted!r} names several rungs: {some}; choose one")
    return task, rungs[0]


def _candidates(task: Task, rung: Rung | None) -> list[Rung]:
    """The rungs that may serve a direction, the first choice first.

    One that cusim cannot run serves only if it is the one that was asked for. No other
    file of a bug hunt serves an exhibit.
    """
    if rung and rung.exhibit:
        return [rung]
    upto = task.rungs.index(rung) + 1 if rung else len(task.rungs)
    return [r for r in reversed(task.rungs[:upto]) if not r.needs or r is rung]


def _load_compiled(task: Task, rung: Rung | None) -> Loaded:
    code: dict[str, Code] = {}
    operator = rung.operator if rung else task.operator
    if operator not in SIGNATURES:
        raise LoadError(
            f"only make grade can run {operator}: no task has this operator"
        )
    for candidate in _candidates(task, rung):
        missing = [d for d in DIRECTIONS if d not in code]
        if not missing:
            break
        built = build_rung(candidate)
        for direction in missing:
            if direction in built.directions:
                symbol = f"{operator}_{direction}"
                addresses = {
                    dtype: function_in(library, symbol)
                    for dtype, library in built.libraries.items()
                }
                code[direction] = Code(candidate.shown, addresses)
    files = {
        direction: code[direction].file for direction in DIRECTIONS if direction in code
    }
    name = rung.id if rung else task.id
    called = COperator(operator, code, device() if task.language == "cuda" else 0)
    return Loaded(name, operator, called, files)


def _load_python(task: Task, rung: Rung | None) -> Loaded:
    """A file of lab 01 holds both directions; it is run anew at every load."""
    chosen = rung or task.rungs[-1]
    operator = chosen.operator
    name = f"convlab_{operator}_{chosen.file.stem}_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, chosen.file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickle and dataclasses look their module up
    try:
        exec(compile(chosen.file.read_bytes(), chosen.file, "exec"), module.__dict__)
    except Exception as error:
        del sys.modules[name]
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise LoadError(
            f"{chosen.shown}{line}: {type(error).__name__}: {error}"
        ) from error
    function = getattr(module, operator, None)
    if not callable(function):
        raise LoadError(f"{chosen.shown} defines no function '{operator}'")
    files = dict.fromkeys(DIRECTIONS, chosen.shown)
    loaded = Loaded(rung.id if rung else task.id, operator, function, files)
    kind = ALL[operator].module
    if hasattr(module, kind):
        setattr(loaded, kind, getattr(module, kind))
    return loaded
